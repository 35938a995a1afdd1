package client

import (
	"math/rand/v2"

	"github.com/headgate-dev/headgate/edge/wire"
)

// An id is six characters of six bits: short enough for 40 queries about addresses in a datagram,
// and at a million queries a second no id is used again within 19 hours.
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

// packet is one datagram of queries. Its buffers are reused for each.
type packet struct {
	bytes     []byte
	rule, key []byte                // the line being written: the rule and the key that are sent
	first     uint64                // the id of the first line; the others follow
	lines     int                   // queries in it
	pad       bool                  // lines are filled up to replyRoom
	index     [queriesPerPacket]int // by line: the index of its query in the call
}

// newPacket starts the ids at random: a reply to an earlier process with the same port matches no
// query of this one.
func newPacket() packet {
	return packet{bytes: make([]byte, 0, packetSize+maxLine), first: rand.Uint64() & idMask} //nolint:gosec // ChaCha8, seeded by the system
}

// maxLine is more than the longest request line: every byte of the key escaped.
const maxLine = 3*wire.MaxKey + wire.MaxRule + wire.MaxID + 64

// replyRoom is the length of the longest reply that a rule can lead to. A daemon that listens beyond
// its own host sends no reply that is longer than the query, and leaves out fields instead; so a
// query to such a daemon is filled up with an option that the protocol ignores.
const (
	replyRoom = len("id=AAAAAA allow remaining=1000000000 reset=86400 view=global shadow=deny")
	filling   = "........................................................................"
)

// Any one query fits: does not compile where it might not.
const _ = uint(packetSize - maxLine)

// id returns the id of line i.
func (p *packet) id(i int) uint64 { return nextID(p.first, i) }

// fill packs the queries of k from index from on until there is no more room, and returns the index
// of the first that is left. A query that is against the protocol is not packed: it fails here.
func (p *packet) fill(k *call, from int) int {
	p.first, p.bytes, p.lines = p.id(p.lines), p.bytes[:0], 0
	for i := from; i < len(k.queries); i++ {
		q := p.encode(k.queries[i])
		if code := check(q); code != wire.NoError {
			k.answers[i].Err = code
			continue
		}
		if !p.append(q) {
			return i
		}
		p.index[p.lines-1] = i
	}
	return len(k.queries)
}

// encode returns q as it is sent. Rule and key lie in the packet's buffers.
func (p *packet) encode(q Query) wire.Query {
	p.rule = append(p.rule[:0], q.Rule...)
	p.key = appendKey(p.key[:0], q.Key)
	return wire.Query{Op: q.Op, Rule: p.rule, Key: p.key, Cost: min(q.Cost, wire.MaxCost)}
}

// check is [wire.Query.Validate], which lets Ping pass: a pong has no id by which to match it.
func check(q wire.Query) wire.Code {
	if q.Op == wire.Ping {
		return wire.BadRequest
	}
	return q.Validate()
}

// append adds one query and reports whether there was room.
func (p *packet) append(q wire.Query) bool {
	if p.lines == queriesPerPacket {
		return false
	}
	var id [idLen]byte
	q.ID = appendID(id[:0], p.id(p.lines))
	end := len(p.bytes)
	if end > 0 {
		p.bytes = append(p.bytes, '\n')
	}
	start := len(p.bytes)
	p.bytes = wire.AppendQuery(p.bytes, q)
	if short := replyRoom - (len(p.bytes) - start); p.pad && short > 0 {
		p.bytes = append(append(p.bytes, " room="...), filling[:max(1, short-len(" room="))]...)
	}
	if len(p.bytes) > packetSize {
		p.bytes = p.bytes[:end]
		return false
	}
	p.lines++
	return true
}
