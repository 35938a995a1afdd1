package http

import (
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"

	"github.com/headgate-dev/headgate/edge/door/doortest"
)

const placesPolicies = `policies: [{name: places, match: {path: "/p"}, key: all, kind: concurrency, limit: 3, lease: 1h}]`

// placesDoor serves a door with three places.
func placesDoor(t *testing.T) *serving {
	t.Helper()
	h, _ := doorOf(t, placesPolicies)
	return serveDoor(t, h, listen(t))
}

// questions take a place each, over the paths of an answer with a number.
var questions = map[string]string{
	"auth": "HEAD /v1/auth/nginx HTTP/1.1\r\nHost: h\r\nX-Original-URI: /p\r\n\r\n",
	"last": "GET /v1/auth/nginx HTTP/1.1\r\nHost: h\r\nConnection: close\r\nX-Original-URI: " +
		"/p\r\n\r\n",
	"old": "GET /v1/auth/nginx HTTP/1.0\r\nHost: h\r\nX-Original-URI: /p\r\n\r\n",
	"ask": "POST /v1/ask HTTP/1.1\r\nHost: h\r\nContent-Type: " +
		"application/json\r\nContent-Length: 13\r\n\r\n{\"path\":\"/p\"}",
	"acquire": "GET /v1/acquire?rule=places&key=all HTTP/1.1\r\nHost: h\r\n\r\n",
}

// TestHangUp: whoever hangs up before it has read that it may pass takes no place, however it hangs
// up.
func TestHangUp(t *testing.T) {
	t.Parallel()
	ends := map[string]func(d *serving, c *net.TCPConn){
		"at once":  func(_ *serving, c *net.TCPConn) { _ = c.Close() },
		"by reset": func(_ *serving, c *net.TCPConn) { _, _ = c.SetLinger(0), c.Close() },
		"unread": func(_ *serving, c *net.TCPConn) {
			doortest.WaitFor(t, func() bool { return readable(c) })
			_ = c.Close()
		},
	}
	for asks, question := range questions {
		for ends, end := range ends {
			t.Run(asks+" "+ends, func(t *testing.T) {
				t.Parallel()
				d := placesDoor(t)
				for range 3 {
					c := d.dial(t)
					if _, err := io.WriteString(c, question); err != nil {
						t.Fatal(err)
					}
					end(d, c.(*net.TCPConn)) //nolint:forcetypeassert // it is one
				}
				doortest.WaitFor(t, func() bool { return d.Stats().Orphans == 3 })
				for range 3 {
					if r := doortest.Exchange(t, d.dial(t),
						questions["old"]); r.StatusCode != http.StatusOK {
						t.Fatal(r.Status)
					}
				}
			})
		}
	}
}

// readable reports whether an answer waits at c.
func readable(c *net.TCPConn) (is bool) {
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	_ = raw.Control(func(fd uintptr) {
		n, _, err := syscall.Recvfrom(int(fd), make([]byte, 1),
			syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		is = err == nil && n > 0
	})
	return is
}

// TestReadAndClosed: whoever reads its answer and closes keeps its place.
func TestReadAndClosed(t *testing.T) {
	t.Parallel()
	for asks, question := range questions {
		t.Run(asks, func(t *testing.T) {
			t.Parallel()
			d := placesDoor(t)
			for range 3 {
				c := d.dial(t)
				if r := doortest.Exchange(t, c, question); r.StatusCode != http.StatusOK {
					t.Fatal(r.Status)
				}
				_ = c.Close()
			}
			doortest.WaitFor(t, func() bool { return d.Stats().Open == 0 })
			if r := doortest.Exchange(t, d.dial(t),
				questions["old"]); r.StatusCode != http.StatusForbidden || d.Stats().Orphans != 0 {
				t.Errorf("%s, %d orphans", r.Status, d.Stats().Orphans)
			}
		})
	}
}
