package gossip

import (
	"github.com/headgate-dev/headgate/gossip/guard"
)

// Bounds of the callbacks' queues. A message has at most guard.MaxDatagram bytes, a state MaxState.
const (
	maxInbox  = 2048
	maxStates = 8
)

// message is a message of another node without the head.
type message struct {
	kind byte
	body []byte
}

// inbox is the queue between memberlist's goroutines, which must not wait, and the callbacks'
// goroutine.
type inbox struct {
	messages chan message
	states   chan []byte
	c        *counters
}

// newInbox returns an empty inbox.
func newInbox(c *counters) *inbox {
	return &inbox{
		messages: make(chan message, maxInbox),
		states:   make(chan []byte, maxStates), c: c,
	}
}

// offer queues a copy of a message, or counts the drop. memberlist only lends b.
func (in *inbox) offer(b []byte) {
	if len(b) > guard.MaxDatagram {
		in.c.drop(guard.Oversize)
		return
	}
	kind, body, err := splitHead(b)
	if err != nil || kind != kindPacket && kind != kindRecords {
		in.c.drop(guard.Malformed)
		return
	}
	select {
	case in.messages <- message{kind, append([]byte(nil), body...)}:
	default:
		in.c.drop(guard.Inbox)
	}
}

// offerState queues a copy of a peer's state, or counts the drop.
func (in *inbox) offerState(b []byte) {
	if len(b) > headBytes+MaxState {
		in.c.drop(guard.Oversize)
		return
	}
	kind, body, err := splitHead(b)
	if err != nil || kind != kindState {
		in.c.drop(guard.Malformed)
		return
	}
	select {
	case in.states <- append([]byte(nil), body...):
	default:
		in.c.drop(guard.Inbox)
	}
}
