package grpc_test

import (
	"net"
	"testing"

	"github.com/headgate-dev/headgate/edge/door/doortest"
)

// TestHangUp: a call whose answer nobody has read holds no place.
func TestHangUp(t *testing.T) {
	t.Parallel()
	h := open(t,
		`policies: [{name: places, match: {path: "/p"}, key: all, kind: concurrency, limit: 3, lease: 1h}]`)
	for n, linger := range []int{-1, 0, -1} {
		c := h.dial(t)
		c.send(authzMethod, check("192.0.2.1", get("GET", "/p")))
		doortest.WaitFor(t, func() bool { return h.door.Stats().Calls == uint64(n)+1 }) // up to 3
		//nolint:forcetypeassert // it is one
		_ = c.conn.(*net.TCPConn).SetLinger(linger)
		_ = c.conn.Close()
	}
	doortest.WaitFor(t, func() bool { return h.door.Stats().Orphans == 3 })
}
