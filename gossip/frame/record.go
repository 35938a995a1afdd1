package frame

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"time"
)

// MaxPacket is the longest packet of Send, bytes. With all framing, encryption and the longest
// label it is a datagram of 1,449 bytes, which fits into an Ethernet frame.
const MaxPacket = 1350

// MaxRecord is the longest record of Spread, bytes. memberlist's own messages go into a packet
// first, and a record that never finds room would never be sent.
const MaxRecord = 1024

// MaxState is the longest State, bytes. It is a bound and not a target: at 20 KiB push/pull costs 8
// KiB/s.
const MaxState = 256 << 10

const (
	// Version is the first byte of every message.
	Version = 1
	// HeadBytes is the length of a message's head: the version and a kind.
	HeadBytes = 2
)

// The kinds of messages, the second byte of each.
const (
	// Packet is a message with a packet of Send.
	Packet = 1
	// Records is a message with a sequence of records.
	Records = 2
	// State is a message with a State.
	State = 3
)

const (
	// IDBytes is the length of an ID.
	IDBytes = 8
	// RecordBytes is the most an encoded record has around its body, bytes: for a body of up to
	// MaxRecord.
	RecordBytes = IDBytes + 2 + 2
	// AgeUnit is the unit of a record's age.
	AgeUnit = 10 * time.Millisecond
)

var (
	// ErrShort is the error of a message without a head.
	ErrShort = errors.New("gossip: message without a head")
	// ErrVersion is the error of a message of another version.
	ErrVersion = errors.New("gossip: message of an unknown version")
	// ErrRecord is the error of a record cut short or longer than MaxRecord.
	ErrRecord = errors.New("gossip: record cut short or too long")
)

// ID is the hash of a record's name, the same on every node.
type ID [IDBytes]byte

// IDOf hashes a name. Names contain bytes clients send, and two names with the same hash suppress
// each other's records, so the hash is collision-resistant.
func IDOf(name string) (n ID) {
	sum := sha256.Sum256([]byte(name))
	copy(n[:], sum[:])
	return n
}

// Record is a record that is being spread.
//
//	written by  the node that spreads it; every node that passes it on adds to its age
//	read by     every node, once per copy; the body is the caller's affair
type Record struct {
	// ID identifies the record's name: a later record with the same ID replaces it.
	ID ID
	// Age is the time in queues since the origin spread it, in units of AgeUnit, modulo 2^16: 11
	// minutes. Network time is not in it.
	Age uint16
	// Body has 0..MaxRecord bytes.
	Body []byte
}

// AppendHead appends the head of a message of a kind to b.
func AppendHead(b []byte, kind byte) []byte { return append(b, Version, kind) }

// SplitHead returns a message's kind, known or not, and the bytes after its head.
func SplitHead(b []byte) (kind byte, body []byte, err error) {
	switch {
	case len(b) < HeadBytes:
		return 0, nil, ErrShort
	case b[0] != Version:
		return 0, nil, ErrVersion
	}
	return b[1], b[HeadBytes:], nil
}

// AppendRecord appends the encoding of r to b.
func AppendRecord(b []byte, r Record) []byte {
	b = append(b, r.ID[:]...)
	b = binary.BigEndian.AppendUint16(b, r.Age)
	b = binary.AppendUvarint(b, uint64(len(r.Body)))
	return append(b, r.Body...)
}

// NextRecord returns the first record of b, whose body lies in b, and the rest of b.
func NextRecord(b []byte) (r Record, rest []byte, err error) {
	if len(b) < RecordBytes-1 {
		return r, nil, ErrRecord
	}
	copy(r.ID[:], b)
	r.Age = binary.BigEndian.Uint16(b[IDBytes:])
	b = b[IDBytes+2:]
	size, n := binary.Uvarint(b)
	if n <= 0 || size > MaxRecord || uint64(len(b)-n) < size {
		return r, nil, ErrRecord
	}
	end := n + int(size)
	return Record{r.ID, r.Age, b[n:end:end]}, b[end:], nil
}

// SetAge replaces the birth in an encoded record, the clock's reading at which its age was 0, by
// its age at now.
func SetAge(encoded []byte, now uint16) {
	age := encoded[IDBytes : IDBytes+2]
	binary.BigEndian.PutUint16(age, now-binary.BigEndian.Uint16(age))
}

// Clock counts AgeUnits since the node's start, modulo 2^16: 11 minutes, far longer than a record
// waits.
type Clock struct{ start time.Time }

// NewClock returns a clock reading 0 at start.
func NewClock(start time.Time) Clock { return Clock{start} }

// At returns the clock's reading at now.
func (c Clock) At(now time.Time) uint16 { return uint16(now.Sub(c.start) / AgeUnit) }
