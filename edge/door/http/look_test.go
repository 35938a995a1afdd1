//go:build unix

package http

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/door/doortest"
)

func write(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

// TestHTTPRequestAfterLook: a request that comes after its connection was looked at is answered as
// any.
func TestHTTPRequestAfterLook(t *testing.T) {
	t.Parallel()
	c := openDoor(t, newFakeDecider(), testLimits()).dial(t)
	br := bufio.NewReader(c)
	for range 2 {
		write(t, c, okRequest)
		doortest.ReadReply(t, br)
		if err := c.SetReadDeadline(time.Now().Add(time.Second +
			100*time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if _, err := br.ReadByte(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("while nothing is asked: %v", err)
		}
		if err := c.SetReadDeadline(time.Now().Add(doortest.Patience)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHTTPQuickAndOther: requests of all kinds on one connection, wherever they are cut.
func TestHTTPQuickAndOther(t *testing.T) {
	t.Parallel()
	const all = okRequest + okRequest +
		"POST /v1/check HTTP/1.1\r\nHost: h\r\nContent-Type: " +
		"application/json\r\nContent-Length: 28\r\n\r\n" + `{"rule":"login","key":"abc"}` +
		okRequest + "GET /v1/check?rule=login&key=%61 HTTP/1.1\r\nHost: h\r\n\r\n" + okRequest
	d := openDoor(t, newFakeDecider(), testLimits())
	for cut := 1; cut < len(all); cut += 5 {
		c := d.dial(t)
		write(t, c, all[:cut])
		write(t, c, all[cut:])
		br := bufio.NewReader(c)
		for n := range 6 {
			if r := doortest.ReadReply(t, br); r.StatusCode != 200 {
				t.Fatalf("cut at %d, answer %d: status %d", cut, n, r.StatusCode)
			}
		}
		_ = c.Close()
	}
}
