package resp_test

import (
	"net"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/door/doortest"
)

// TestHangUp: whoever hangs up before it has read its answer holds no place; whoever has read it
// does.
func TestHangUp(t *testing.T) {
	t.Parallel()
	n := openWith(t,
		`policies: [{name: places, match: {path: "/p"}, key: all, kind: concurrency, limit: 3, lease: 1h}]`,
		"", 0)
	question := command("HEADGATE.ASK", "path", "/p")
	for _, linger := range []int{-1, 0, -1} {
		n.connect()
		n.send(question)
		_ = n.Conn.(*net.TCPConn).SetLinger(linger) //nolint:forcetypeassert // it is one
		_ = n.Close()
	}
	doortest.WaitFor(t, func() bool { return n.door.Stats().Orphans == 3 })
	n.connect()
	n.send(question + question + question)
	for range 3 {
		n.receive()
	}
	n.send(command("PING"))
	n.receive()
	_ = n.Conn.(*net.TCPConn).SetLinger(0) //nolint:forcetypeassert // it is one
	_ = n.Close()
	doortest.WaitFor(t, func() bool { return n.door.Stats().Open == 1 })
	n.connect()
	if got := n.do("HEADGATE.ASK", "path", "/p"); !strings.Contains(got, "verdict deny") ||
		n.door.Stats().Orphans != 3 {
		t.Errorf("%s, %+v", got, n.door.Stats())
	}
}

// TestHTTP: a request of HTTP ends the connection before the commands in its body.
func TestHTTP(t *testing.T) {
	t.Parallel()
	n := openWith(t, policies, "", 0)
	for _, line := range []string{
		"POST / HTTP/1.1", "put / HTTP/1.1", "OPTIONS * HTTP/1.1",
		"Host: 127.0.0.1:4296",
	} {
		n.connect()
		n.send(line + "\r\nPING\r\n")
		if got, end := n.receive(), n.receive(); got != "ERR this is no HTTP" || end != "closed" {
			t.Errorf("%s: %q, %q", line, got, end)
		}
	}
	n.connect()
	n.send("GET / HTTP/1.1\r\nHost: h\r\nPING\r\n") // GET is a command of Redis
	for _, want := range []string{"ERR unknown command 'GET'", "ERR this is no HTTP", "closed"} {
		if got := n.receive(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
