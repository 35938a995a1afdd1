package gossip

// The bounds of what waits for the callbacks. The messages are at most maxDatagram long, the states MaxState.
const (
	maxInbox  = 2048
	maxStates = 8
)

// message is what came from another node, its head taken off.
type message struct {
	kind byte
	body []byte
}

// inbox is what lies between memberlist's goroutines, which must never wait, and ours.
type inbox struct {
	messages chan message
	states   chan []byte
	c        *counters
}

func newInbox(c *counters) *inbox {
	return &inbox{messages: make(chan message, maxInbox), states: make(chan []byte, maxStates), c: c}
}

// offer takes a copy of a message, or counts why not. b is memberlist's and only lent.
func (in *inbox) offer(b []byte) {
	if len(b) > maxDatagram {
		in.c.drop(dropOversize)
		return
	}
	kind, body, err := splitHead(b)
	if err != nil || kind != kindPacket && kind != kindRecords {
		in.c.drop(dropMalformed)
		return
	}
	select {
	case in.messages <- message{kind, append([]byte(nil), body...)}:
	default:
		in.c.drop(dropInbox)
	}
}

// offerState takes a copy of a peer's state, or counts why not.
func (in *inbox) offerState(b []byte) {
	if len(b) > headBytes+MaxState {
		in.c.drop(dropOversize)
		return
	}
	kind, body, err := splitHead(b)
	if err != nil || kind != kindState {
		in.c.drop(dropMalformed)
		return
	}
	select {
	case in.states <- append([]byte(nil), body...):
	default:
		in.c.drop(dropInbox)
	}
}
