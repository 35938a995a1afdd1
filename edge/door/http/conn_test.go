package http

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/door/doortest"
)

const okRequest = "GET /v1/check?rule=login&key=a HTTP/1.1\r\nHost: h\r\n\r\n"

// TestHTTPKeepAlive checks which connections stay open, and that pipelined requests are answered in
// order.
func TestHTTPKeepAlive(t *testing.T) {
	t.Parallel()
	const target = "/v1/check?rule=login&key="
	d := openDoor(t, newFakeDecider(), testLimits())
	for _, tt := range []struct {
		name, raw string
		statuses  []int
		closed    bool
	}{
		{"1.1", "GET " + target + "a HTTP/1.1\r\nHost: h\r\n\r\n", []int{200}, false},
		{"HEAD", "HEAD " + target + "limited HTTP/1.1\r\nHost: h\r\n\r\n", []int{429}, false},
		{
			"1.1 close", "GET " + target + "a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
			[]int{200},
			true,
		},
		{"1.0", "GET " + target + "a HTTP/1.0\r\n\r\n", []int{200}, true},
		{
			"1.0 keep-alive", "GET " + target + "a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
			[]int{200},
			false,
		},
		{
			"after a bad parameter", "GET " + target + " HTTP/1.1\r\nHost: h\r\n\r\n" + okRequest,
			[]int{400, 200},
			false,
		},
		{
			"pipelined",
			"GET " + target + "a HTTP/1.1\r\nHost: h\r\n\r\nGET " + target + "limited " +
				"HTTP/1.1\r\nHost: h\r\n\r\n" +
				post("/v1/count", jsonType, `{"rule":"login","key":"a"}`) + okRequest,
			[]int{200, 429, 204, 200},
			false,
		},
		{
			"body of a GET is no request", fmt.Sprintf("GET %sa HTTP/1.1\r\nHost: "+
				"h\r\nContent-Length: %d\r\n\r\n%s", target, len(okRequest), okRequest),
			[]int{200},
			true,
		},
		{"body refused is no request", post("/v1/check", "text/plain",
			strings.Repeat(okRequest, 1000)), []int{415}, true},
		{"large cookies", "GET " + target + "a HTTP/1.1\r\nHost: h\r\n" + cookies(14<<10) + "\r\n" +
			okRequest, []int{200, 200}, false},
		{
			"large cookies, 1.0", "GET " + target + "a HTTP/1.0\r\n" + cookies(14<<10) + "\r\n",
			[]int{200},
			true,
		},
		{
			"large cookies and a body",
			strings.Replace(post("/v1/check", jsonType, `{"rule":"login","key":"limited"}`),
				"\r\n\r\n", "\r\n"+cookies(14<<10)+"\r\n", 1) + okRequest,
			[]int{429, 200},
			false,
		},
		{"64 KiB of headers", "GET " + target + "a HTTP/1.1\r\nHost: h\r\n" + cookies(64<<10-11) +
			"\r\n" + okRequest, []int{200, 200}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := d.dial(t)
			if _, err := io.WriteString(c, tt.raw); err != nil {
				t.Fatal(err)
			}
			br := bufio.NewReader(c)
			for i, want := range tt.statuses {
				if r := doortest.ReadReplyTo(t, strings.Fields(tt.raw)[0],
					br); r.StatusCode != want {
					t.Fatalf("answer %d: status %d, want %d: %s", i, r.StatusCode, want, r.Text)
				}
			}
			checkClosed(t, c, br, tt.closed)
		})
	}
}

// cookies returns exactly n bytes of cookie headers, as a proxy forwards them.
func cookies(n int) string {
	const line = 4 << 10
	var b strings.Builder
	for n > 0 {
		size := n
		if n >= 2*line {
			size = line
		}
		b.WriteString("Cookie: " + strings.Repeat("c", size-len("Cookie: \r\n")) + "\r\n")
		n -= size
	}
	return b.String()
}

// checkClosed checks that a connection is at its end, or else that it answers once more.
func checkClosed(t *testing.T, c net.Conn, br *bufio.Reader, closed bool) {
	t.Helper()
	if !closed {
		if _, err := io.WriteString(c, okRequest); err != nil {
			t.Fatal(err)
		}
		if r := doortest.ReadReply(t, br); r.StatusCode != http.StatusOK {
			t.Fatalf("next request: status %d", r.StatusCode)
		}
		return
	}
	if b, err := br.ReadByte(); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("read %q, %v; want the end", b, err)
	}
}

// TestHTTPSlowClients checks that whoever sends half of anything, or nothing, is cut when the time
// is up.
func TestHTTPSlowClients(t *testing.T) {
	t.Parallel()
	const head = "POST /v1/check HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
	for name, raw := range map[string]string{
		"nothing":          "",
		"half a line":      "GET /v1/che",
		"half the headers": "GET /v1/check?rule=login&key=a HTTP/1.1\r\nHost: h\r\nCook",
		"half a body":      head + "Content-Length: 30\r\n\r\n{\"rule\"",
		"half a large body": head + "Content-Length: 100000\r\n\r\n" + strings.Repeat(" ",
			50000),
		"half a chunk":         head + "Transfer-Encoding: chunked\r\n\r\n10\r\n{",
		"the second half line": okRequest + "GET ",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newFakeDecider()
			limits := testLimits()
			limits.read = 50 * time.Millisecond
			d := openDoor(t, j, limits)
			c := d.dial(t)
			if _, err := io.WriteString(c, raw); err != nil {
				t.Fatal(err)
			}
			br := bufio.NewReader(c)
			if strings.HasPrefix(raw, okRequest) {
				doortest.ReadReply(t, br)
			}
			checkProblem(t, doortest.ReadReply(t, br), http.StatusRequestTimeout, "request")
			checkClosed(t, c, br, true)
			if s := d.Stats(); s.Cut != 1 {
				t.Errorf("cut %d, want 1", s.Cut)
			}
		})
	}
}

// TestHTTPIdle checks that a connection on which nothing happens is closed without a word.
func TestHTTPIdle(t *testing.T) {
	t.Parallel()
	limits := testLimits()
	limits.idle = 50 * time.Millisecond
	d := openDoor(t, newFakeDecider(), limits)
	c := d.dial(t)
	br := bufio.NewReader(c)
	fmt.Fprint(c, okRequest)
	doortest.ReadReply(t, br)
	checkClosed(t, c, br, true)
}
