package wire

import "math/rand/v2"

// An id is six characters of six bits: short enough for 40 questions about
// addresses in a datagram, and at a million questions a second no id comes
// again within 19 hours.
const (
	idLen    = 6
	idBits   = 6 * idLen
	idMask   = 1<<idBits - 1
	idDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"
)

// digitOf is the value of each of idDigits, 64 for any other byte.
var digitOf = digitValues()

func digitValues() (t [256]uint8) {
	for i := range t {
		t[i] = 64
	}
	for v := range len(idDigits) {
		t[idDigits[v]] = uint8(v)
	}
	return t
}

// nextID returns the n-th id after id.
func nextID(id uint64, n int) uint64 { return (id + uint64(n)) & idMask }

func appendID(dst []byte, id uint64) []byte {
	for shift := idBits - 6; shift >= 0; shift -= 6 {
		dst = append(dst, idDigits[id>>shift&63])
	}
	return dst
}

// parseID reports false for an id that is not of appendID.
func parseID(b []byte) (id uint64, ok bool) {
	if len(b) != idLen {
		return 0, false
	}
	ok = true
	for _, c := range b {
		v := digitOf[c]
		ok = ok && v < 64
		id = id<<6 | uint64(v&63)
	}
	return id, ok
}

// packet is one datagram of questions, filled anew for each.
type packet struct {
	bytes []byte
	first uint64              // the id of the first line; the others follow
	lines int                 // questions in it
	index [linesPerPacket]int // which query of the call each line asks
}

// newPacket starts the ids at random: an answer that was meant for an earlier
// process with the same port finds nobody.
func newPacket() packet {
	return packet{bytes: make([]byte, 0, packetSize+maxLine), first: rand.Uint64() & idMask} //nolint:gosec // ChaCha8, seeded by the system
}

// maxLine is more than the longest request line: every byte of the key escaped.
const maxLine = 3*MaxKey + MaxRule + MaxID + 64

// Any one question fits: does not compile where it might not.
const _ = uint(packetSize - maxLine)

// id returns the id of line i.
func (p *packet) id(i int) uint64 { return nextID(p.first, i) }

// fill packs the queries of k from index from on until there is no more room,
// and returns the index of the first it left. A query that is against the
// protocol is not packed but settled here.
func (p *packet) fill(k *call, from int) int {
	p.first, p.bytes, p.lines = p.id(p.lines), p.bytes[:0], 0
	for i := from; i < len(k.queries); i++ {
		q := k.queries[i]
		q.ID = nil
		if code := askable(q); code != NoError {
			k.answers[i] = Answer{Status: Error, Code: code}
			continue
		}
		if !p.append(q) {
			return i
		}
		p.index[p.lines-1] = i
	}
	return len(k.queries)
}

// askable is [Query.Validate], which lets Ping pass: that has no id, and so no
// answer that could be told from another's.
func askable(q Query) Code {
	if q.Op == Ping {
		return BadRequest
	}
	return q.Validate()
}

// append adds one question and reports whether there was room.
func (p *packet) append(q Query) bool {
	if p.lines == linesPerPacket {
		return false
	}
	var id [idLen]byte
	q.ID = appendID(id[:0], p.id(p.lines))
	end := len(p.bytes)
	if end > 0 {
		p.bytes = append(p.bytes, '\n')
	}
	if p.bytes = AppendQuery(p.bytes, q); len(p.bytes) > packetSize {
		p.bytes = p.bytes[:end]
		return false
	}
	p.lines++
	return true
}
