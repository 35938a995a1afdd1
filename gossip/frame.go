package gossip

import (
	"encoding/binary"
	"errors"
	"time"
)

// MaxPacket is the longest packet of Send, bytes. With all framing, encryption and the longest
// label it is a datagram of 1,449 bytes, which fits into one Ethernet frame.
const MaxPacket = 1350

// MaxRecord is the longest record of Spread, bytes. memberlist's own messages go into a packet
// first, and a record that never finds room would wait for ever.
const MaxRecord = 1024

// MaxState is the longest State, bytes. It is a bound and not a target: at 20 KiB push/pull costs 8
// KiB/s.
const MaxState = 256 << 10

// The head of every message of this package: the version of this framing, and a kind.
const (
	frameVersion = 1
	headBytes    = 2

	kindPacket  = 1 // the rest is one packet of Send
	kindRecords = 2 // the rest is a sequence of records
	kindState   = 3 // the rest is one State
)

// A record on the wire: 8 bytes of a hash of its name, 2 bytes of age, its length as a uvarint, its
// bytes.
const (
	idBytes     = 8
	recordBytes = idBytes + 2 + 2 // around the bytes of a record of up to MaxRecord
	ageUnit     = 10 * time.Millisecond
)

var (
	errFrameShort   = errors.New("gossip: message without a head")
	errFrameVersion = errors.New("gossip: message of an unknown version")
	errRecord       = errors.New("gossip: record cut short or too long")
)

// id is the hash of a record's name, the same on every node.
type id [idBytes]byte

// record is a record that is being spread.
type record struct {
	id id
	// age is the time in queues since the origin spread it, in ageUnits. Network time is not in it.
	age  uint16
	body []byte
}

// appendHead appends a message's head to b.
func appendHead(b []byte, kind byte) []byte { return append(b, frameVersion, kind) }

// splitHead returns a message's kind and the bytes after its head.
func splitHead(b []byte) (kind byte, body []byte, err error) {
	switch {
	case len(b) < headBytes:
		return 0, nil, errFrameShort
	case b[0] != frameVersion:
		return 0, nil, errFrameVersion
	}
	return b[1], b[headBytes:], nil
}

// appendRecord appends the encoding of r to b.
func appendRecord(b []byte, r record) []byte {
	b = append(b, r.id[:]...)
	b = binary.BigEndian.AppendUint16(b, r.age)
	b = binary.AppendUvarint(b, uint64(len(r.body)))
	return append(b, r.body...)
}

// nextRecord returns the first record of b, whose body lies in b, and the rest of b.
func nextRecord(b []byte) (r record, rest []byte, err error) {
	if len(b) < recordBytes-1 {
		return r, nil, errRecord
	}
	copy(r.id[:], b)
	r.age = binary.BigEndian.Uint16(b[idBytes:])
	b = b[idBytes+2:]
	size, n := binary.Uvarint(b)
	if n <= 0 || size > MaxRecord || uint64(len(b)-n) < size {
		return r, nil, errRecord
	}
	end := n + int(size)
	return record{r.id, r.age, b[n:end:end]}, b[end:], nil
}

// clock counts ageUnits since the node's start, modulo 2^16: 11 minutes, far longer than a record
// waits.
type clock struct{ start time.Time }

// at returns the clock's reading at now.
func (c clock) at(now time.Time) uint16 { return uint16(now.Sub(c.start) / ageUnit) }
