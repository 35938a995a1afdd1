package gossip

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"time"
)

// Package frame is the wire format of

const (
	// version is the first byte of every message.
	version = 1
	// headBytes is the length of a message's head: the version and a kind.
	headBytes = 2
)

// The kinds of messages, the second byte of each.
const (
	// kindPacket is a message with a packet of Send.
	kindPacket = 1
	// kindRecords is a message with a sequence of records.
	kindRecords = 2
	// kindState is a message with a State.
	kindState = 3
)

const (
	// idBytes is the length of an ID.
	idBytes = 8
	// recordBytes is the most an encoded record has around its body, bytes: for a body of up to
	// MaxRecord.
	recordBytes = idBytes + 2 + 2
	// ageUnit is the unit of a record's age.
	ageUnit = 10 * time.Millisecond
)

var (
	// errShort is the error of a message without a head.
	errShort = errors.New("gossip: message without a head")
	// ErrVersion is the error of a message of another version.
	errVersion = errors.New("gossip: message of an unknown version")
	// ErrRecord is the error of a record cut short or longer than MaxRecord.
	errRecord = errors.New("gossip: record cut short or too long")
)

// id is the hash of a record's name, the same on every node.
type id [idBytes]byte

// idOf hashes a name. Names contain bytes clients send, and two names with the same hash suppress
// each other's records, so the hash is collision-resistant.
func idOf(name string) (n id) {
	sum := sha256.Sum256([]byte(name))
	copy(n[:], sum[:])
	return n
}

// record is a record that is being spread.
//
//	written by  the node that spreads it; every node that passes it on adds to its age
//	read by     every node, once per copy; the body is the caller's affair
type record struct {
	// ID identifies the record's name: a later record with the same ID replaces it.
	ID id
	// Age is the time in queues since the origin spread it, in units of AgeUnit, modulo 2^16: 11
	// minutes. Network time is not in it.
	Age uint16
	// Body has 0..MaxRecord bytes.
	Body []byte
}

// appendHead appends the head of a message of a kind to b.
func appendHead(b []byte, kind byte) []byte { return append(b, version, kind) }

// splitHead returns a message's kind, known or not, and the bytes after its head.
func splitHead(b []byte) (kind byte, body []byte, err error) {
	switch {
	case len(b) < headBytes:
		return 0, nil, errShort
	case b[0] != version:
		return 0, nil, errVersion
	}
	return b[1], b[headBytes:], nil
}

// appendRecord appends the encoding of r to b.
func appendRecord(b []byte, r record) []byte {
	b = append(b, r.ID[:]...)
	b = binary.BigEndian.AppendUint16(b, r.Age)
	b = binary.AppendUvarint(b, uint64(len(r.Body)))
	return append(b, r.Body...)
}

// nextRecord returns the first record of b, whose body lies in b, and the rest of b.
func nextRecord(b []byte) (r record, rest []byte, err error) {
	if len(b) < recordBytes-1 {
		return r, nil, errRecord
	}
	copy(r.ID[:], b)
	r.Age = binary.BigEndian.Uint16(b[idBytes:])
	b = b[idBytes+2:]
	size, n := binary.Uvarint(b)
	if n <= 0 || size > MaxRecord || uint64(len(b)-n) < size {
		return r, nil, errRecord
	}
	end := n + int(size)
	return record{r.ID, r.Age, b[n:end:end]}, b[end:], nil
}

// setAge replaces the birth in an encoded record, the clock's reading at which its age was 0, by
// its age at now.
func setAge(encoded []byte, now uint16) {
	age := encoded[idBytes : idBytes+2]
	binary.BigEndian.PutUint16(age, now-binary.BigEndian.Uint16(age))
}

// clock counts AgeUnits since the node's start, modulo 2^16: 11 minutes, far longer than a record
// waits.
type clock struct{ start time.Time }

// newClock returns a clock reading 0 at start.
func newClock(start time.Time) clock { return clock{start} }

// At returns the clock's reading at now.
func (c clock) At(now time.Time) uint16 { return uint16(now.Sub(c.start) / ageUnit) }
