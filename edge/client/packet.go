package client

import "github.com/headgate-dev/headgate/edge/wire"

// A datagram holds the lines of a client's queries, a query a line, and the ids matching replies
// and queries. newDatagram takes the first id: nothing here opens a socket or draws a random
// number.
//
//	queries ─► datagram.Append ─► datagram.Bytes ──datagram──► the daemon
//	                                              ◄──reply──── id=… ─► parseID ─► the query that waits

// The bounds of a datagram.
const (
	// maxLines is the number of queries in a datagram.
	maxLines = 40
	// packetSize is the length in bytes: under any usual MTU.
	packetSize = 1400
)

// maxLine is more than the longest request line: every byte of the key escaped.
const maxLine = 3*wire.MaxKey + wire.MaxRule + wire.MaxID + 64

// Any query fits: no compilation otherwise.
const _ = uint(packetSize - maxLine)

// replyRoom is the length of the longest reply a rule can lead to. A daemon listening beyond the
// host sends no reply longer than the query, and leaves out fields instead; so a query to such a
// daemon is filled up with an option the protocol ignores.
const (
	replyRoom = len("id=AAAAAA allow remaining=1000000000 reset=86400 view=global shadow=deny")
	delayRoom = len(" delay=60000") // more, to who can wait
	filling   = "........................................................................"
)

// datagram is a datagram of queries, with a buffer reused for the next. The zero value numbers
// lines from 0; a datagram is not safe for concurrent use.
type datagram struct {
	bytes []byte
	first uint64 // the id of the first line; the others follow
	lines int
	pad   bool
}

// newDatagram returns an empty packet. first is the id of the first line, of which the low 36 bits
// count: random, so a reply to an earlier process with the same port matches no query of this
// process.
func newDatagram(first uint64) datagram {
	return datagram{bytes: make([]byte, 0, packetSize+maxLine), first: first & idMask}
}

// Reset empties the packet; ids go on. With pad, lines are filled up to the length of the longest
// reply.
func (p *datagram) Reset(pad bool) {
	p.first, p.bytes, p.lines, p.pad = p.ID(p.lines), p.bytes[:0], 0, pad
}

// Append adds a query and reports whether there was room. Append sets the query's ID; the rest must
// be valid ([wire.Query.Validate]).
func (p *datagram) Append(q wire.Query) bool {
	if p.lines == maxLines {
		return false
	}
	var id [idLen]byte
	q.ID = appendID(id[:0], p.ID(p.lines))
	end := len(p.bytes)
	if end > 0 {
		p.bytes = append(p.bytes, '\n')
	}
	start := len(p.bytes)
	p.bytes = wire.AppendQuery(p.bytes, q)
	room := replyRoom
	if q.Wait {
		room += delayRoom
	}
	if short := room - (len(p.bytes) - start); p.pad && short > 0 {
		p.bytes = append(append(p.bytes, " room="...), filling[:max(1, short-len(" room="))]...)
	}
	if len(p.bytes) > packetSize {
		p.bytes = p.bytes[:end]
		return false
	}
	p.lines++
	return true
}

// AppendLine adds a line of another kind, without the id, and reports whether there was room. The
// only line of a packet, unless short; wire.MaxDatagram bytes are too long.
func (p *datagram) AppendLine(line []byte) bool {
	if p.lines > 0 || len(line)+len(" id=")+idLen > wire.MaxDatagram {
		return false
	}
	p.bytes = appendID(append(append(p.bytes, line...), " id="...), p.ID(0))
	p.lines = 1
	return true
}

// AppendUnanswered adds a line without an answer and an id: not counted.
func (p *datagram) AppendUnanswered(line []byte) { p.bytes = append(p.bytes, line...) }

// Bytes returns the datagram. Valid until the next Reset or Append.
func (p *datagram) Bytes() []byte { return p.bytes }

// Lines returns the number of queries in the packet, 0 to maxLines.
func (p *datagram) Lines() int { return p.lines }

// ID returns the id of line i, counted from 0.
func (p *datagram) ID(i int) uint64 { return nextID(p.first, i) }
