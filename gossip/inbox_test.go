package gossip

import (
	"testing"
)

// FuzzInbox feeds a node any bytes as a message or a state, and lets it handle them.
func FuzzInbox(f *testing.F) {
	f.Add(packet("packet"))
	f.Add(appendRecord(appendHead(nil, kindRecords), record{Body: []byte("a")}))
	f.Add(append(appendHead(nil, kindState), "state"...))
	f.Add([]byte{version + 1, kindPacket})
	f.Fuzz(func(t *testing.T, b []byte) {
		n := idle(t, func(c *Config) { c.ReceiveRecord = func([]byte) bool { return true } })
		n.inbox.offer(b)
		n.inbox.offerState(b)
		s := n.Stats()
		taken := uint64(s.Waiting)
		for s.Waiting > 0 {
			select {
			case m := <-n.inbox.messages:
				n.receive(m)
			case <-n.inbox.states:
			}
			s = n.Stats()
		}
		if refused := s.Dropped["malformed"] + s.Dropped["oversize"]; taken > 2 ||
			taken+refused < 2 {
			t.Errorf("%d taken and %d refused of two", taken, refused)
		}
	})
}
