package http

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/door/doortest"
)

// TestHTTPConnectionHeader checks that Connection is a list whose words have no case, and that
// close wins.
func TestHTTPConnectionHeader(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		version, headers string
		closed           bool
	}{
		{"1.1", "", false},
		{"1.1", "Connection: Close\r\n", true},
		{"1.1", "CONNECTION:close\r\n", true},
		{"1.1", "Connection: keep-alive, Close\r\n", true},
		{"1.1", "Connection: te ,\tclose\r\n", true},
		{"1.1", "Connection: close\r\nConnection: keep-alive\r\n", true},
		{"1.1", "Connection: te\r\nConnection: CLOSE\r\n", true},
		{"1.1", "Connection: closed\r\n", false},
		{"1.1", "Connection: te\r\n", false},
		{"1.0", "", true},
		{"1.0", "Connection: Keep-Alive\r\n", false},
		{"1.0", "Connection: te, keep-alive\r\n", false},
		{"1.0", "Connection: te\r\nConnection: keep-alive\r\n", false},
		{"1.0", "Connection: keep-alive, close\r\n", true},
	} {
		t.Run(tt.version+" "+tt.headers, func(t *testing.T) {
			t.Parallel()
			c := openDoor(t, newFakeDecider(), testLimits()).dial(t)
			if _, err := io.WriteString(c,
				"GET /v1/check?rule=login&key=a HTTP/"+tt.version+"\r\nHost: "+
					"h\r\n"+tt.headers+"\r\n"); err != nil {
				t.Fatal(err)
			}
			br := bufio.NewReader(c)
			if r := doortest.ReadReply(t, br); r.StatusCode != http.StatusOK ||
				r.Close != tt.closed {
				t.Errorf("status %d, says it closes: %t; want %t", r.StatusCode, r.Close, tt.closed)
			}
			checkClosed(t, c, br, tt.closed)
		})
	}
}

// oddNames are header names that another reader may cut at another place.
var oddNames = []badInput{
	{
		"a space in a name", "GET /v1/check?rule=login&key=a HTTP/1.1\r\nHost: h\r\nX Y: a\r\n\r\n",
		"request", 400,
	},
	{
		"a space behind a name", "GET /v1/check?rule=login&key=a HTTP/1.1\r\nHost: h\r\nX : " +
			"a\r\n\r\n",
		"request", 400,
	},
	{
		"a tab in a name", "GET /v1/check?rule=login&key=a HTTP/1.1\r\nHost: h\r\nX\tY: a\r\n\r\n",
		"request", 400,
	},
	{
		"a space before a name", "GET /v1/check?rule=login&key=a HTTP/1.1\r\n X: a\r\nHost: " +
			"h\r\n\r\n",
		"request", 400,
	},
	{"a line that goes on", "GET /v1/check?rule=login&key=a HTTP/1.1\r\nHost: h\r\nX: a\r\n " +
		"b\r\n\r\n", "request", 400},
	{
		"no name", "GET /v1/check?rule=login&key=a HTTP/1.1\r\nHost: h\r\n: a\r\n\r\n", "request",
		400,
	},
	{"no colon", "GET /v1/check?rule=login&key=a HTTP/1.1\r\nHost: h\r\nX\r\n\r\n", "request", 400},
	{
		"a carriage return in a value",
		"GET /v1/check?rule=login&key=a HTTP/1.1\r\nHost: h\r\nX: a\rb\r\n\r\n", "request", 400,
	},
	{"a nought in a value", "GET /v1/check?rule=login&key=a HTTP/1.1\r\nHost: h\r\nX: " +
		"a\x00b\r\n\r\n", "request", 400},
	{
		"two hosts", "GET /v1/check?rule=login&key=a HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n",
		"request", 400,
	},
}

// TestHTTPOddNames checks that such a request is refused and is the last of its connection.
func TestHTTPOddNames(t *testing.T) {
	t.Parallel()
	for _, tt := range oddNames {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			checkRefusedForGood(t, tt)
		})
	}
}

// TestHTTPContinue checks who is told to go on: a client of HTTP/1.1 that asked and has not sent
// its body yet.
func TestHTTPContinue(t *testing.T) {
	t.Parallel()
	const continues = "HTTP/1.1 100 Continue\r\n\r\n"
	for _, tt := range []struct {
		name, version, headers string
		told                   bool
	}{
		{"1.1", "1.1", "Expect: 100-continue\r\n", true},
		{"1.1, another case", "1.1", "EXPECT: 100-Continue\r\n", true},
		{"1.1, nothing asked", "1.1", "", false},
		{"1.1, something else", "1.1", "Expect: a-miracle\r\n", false},
		{"1.0", "1.0", "Expect: 100-continue\r\n", false},
	} {
		for _, size := range []int{len(oneCheckBody), 20000} {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				checkContinue(t, tt.version+"\r\n"+tt.headers, size, tt.told, continues)
			})
		}
	}
}

func checkContinue(t *testing.T, start string, size int, told bool, continues string) {
	t.Helper()
	d := openDoor(t, newFakeDecider(), testLimits())
	c := d.dial(t)
	head := post("/v1/check", jsonType, oneCheckBody+strings.Repeat(" ", size-len(oneCheckBody)))
	head = strings.Replace(head[:len(head)-size], "HTTP/1.1\r\n", "HTTP/"+start, 1)
	if _, err := io.WriteString(c, head); err != nil {
		t.Fatal(err)
	}
	br := bufio.NewReader(c)
	if told {
		got := make([]byte, len(continues))
		if _, err := io.ReadFull(br, got); err != nil || string(got) != continues {
			t.Fatalf("%q, %v", got, err)
		}
	} else {
		doortest.WaitFor(t, func() bool { return d.Stats().UnderWay > 0 })
	}
	if _, err := io.WriteString(c,
		oneCheckBody+strings.Repeat(" ", size-len(oneCheckBody))); err != nil {
		t.Fatal(err)
	}
	if r := doortest.ReadReply(t, br); r.StatusCode != http.StatusOK {
		t.Errorf("status %d: %s", r.StatusCode, r.Text)
	}
}
