package global

import (
	"encoding/binary"
	"math"

	"github.com/headgate-dev/headgate/gossip"
)

// The tags of records that are spread, and of the parts of a state.
const (
	tagHint     = 'n' // from a node of an older build, ignored
	tagOverride = 'w' // an override, as the gate publishes it
	tagClock    = 't' // the sender's name, and its clock
)

// tagged returns record with tag before it.
func tagged(tag byte, record []byte) []byte { return append([]byte{tag}, record...) }

// stateParts is a state in the making: each part is a uvarint of its length, a tag and a body.
type stateParts struct {
	all   []byte
	unfit int // parts that did not fit
}

// add appends a part, and reports whether there was room for it.
func (s *stateParts) add(tag byte, body []byte) bool {
	if len(s.all)+len(body)+1+binary.MaxVarintLen64 > gossip.MaxState {
		return false
	}
	s.all = binary.AppendUvarint(s.all, uint64(len(body)+1))
	s.all = append(append(s.all, tag), body...)
	return true
}

// state returns the state for another member: this node's clock, and its overrides, a part each.
// Overrides that do not fit come first in the next state.
func (l *Link) state(bool) []byte {
	var s stateParts
	_, wall := l.clocks()
	// Unix milliseconds, and the node's name
	millis := binary.AppendUvarint(nil, uint64(max(0, wall.UnixMilli())))
	s.add(tagClock, append(millis, l.gate.Node()...))
	s.unfit = l.gate.AppendOverrides(func(record []byte) bool { return s.add(tagOverride, record) })
	l.unfit.Add(uint64(s.unfit))
	return s.all
}

// merge receives another member's state, at most gossip.MaxState bytes of any content. Parts of
// unknown kinds, as later versions may send, are skipped and counted.
func (l *Link) merge(state []byte) {
	for len(state) > 0 {
		size, n := binary.Uvarint(state)
		if n <= 0 || size > uint64(len(state)-n) {
			l.unread.Add(1)
			return
		}
		l.mergePart(state[n : n+int(size)]) // at most len(state)
		state = state[n+int(size):]
	}
}

// mergePart receives a part: its tag and its body. An override that is known already, or older than
// the present, changes nothing, so states may arrive in any order and more than once.
func (l *Link) mergePart(part []byte) {
	if len(part) == 0 {
		l.unread.Add(1)
		return
	}
	switch body := part[1:]; part[0] {
	case tagClock:
		l.receiveClock(body)
	default:
		l.receiveRecord(part)
	}
}

// receiveClock takes in another member's clock.
func (l *Link) receiveClock(body []byte) {
	ms, n := binary.Uvarint(body)
	if n <= 0 || ms > math.MaxInt64 {
		l.unread.Add(1)
		return
	}
	now, wall := l.clocks()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.coordinator.ReceiveClock(now, wall, string(body[n:]), int64(ms))
}
