package spop_test

import (
	"net"
	"testing"

	"github.com/headgate-dev/headgate/edge/door/doortest"
)

const placesPolicies = `policies: [{name: places, match: {path: "/p"}, key: all, kind: concurrency, limit: 99, lease: 1h}]`

// TestHangUp: an agent's answer that HAProxy has not read holds no place.
func TestHangUp(t *testing.T) {
	t.Parallel()
	a := open(t, placesPolicies)
	a.greet()
	question := frameOf(notify, fin, 1, 1, message("ask", "path", "/p"))
	a.send(question, question)
	_ = a.Conn.(*net.TCPConn).SetLinger(0) //nolint:forcetypeassert // it is one
	_ = a.Close()
	doortest.WaitFor(t, func() bool { return a.door.Stats().Orphans == 2 })
}

// TestUnansweredHoldsNothing: a place whose number does not fit the frame, or that a fault takes
// out of it, is free.
func TestUnansweredHoldsNothing(t *testing.T) {
	t.Parallel()
	a := open(t, placesPolicies)
	a.send(frameOf(hello, fin, 0, 0,
		kvs("supported-versions", "2.0", "max-frame-size", uint32(256), "capabilities", "")))
	a.receive()
	ask := message("ask", "path", "/p")
	a.send(frameOf(notify, fin, 1, 1, ask+ask+ask+ask))
	a.receive()
	s := a.door.Stats()
	if s.Unanswered == 0 || s.Orphans != s.Unanswered {
		t.Errorf("%+v", s)
	}
	a.send(frameOf(notify, fin, 1, 1, ask+"\x03bad\x01"))
	a.receive()
	if got := a.door.Stats().Orphans; got != s.Orphans+1 {
		t.Errorf("%d, and %d before", got, s.Orphans)
	}
}
