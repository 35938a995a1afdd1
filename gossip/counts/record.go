package counts

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/window"
)

// A batch is the body of a record of the control loop's packets:
//
//	batch  = version  flags  [ origin  issued ]  rules  *rule  *record
//	rule   = name  terms
//	record = digest  facts
//
// origin and issued are there if the flag relayed is set; otherwise they are the packet's sender's.
// The origin of a node counting alone (flag alone) is the node, else the PoP. issued is Unix
// milliseconds, a varint. rules is a byte, 1..16, or 0 for a batch without records, which says only
// that the sender sends counts. A name is a byte of length and its bytes; terms are 4 bytes, see
// Terms. Records fill the rest, 12 bytes each, little-endian: 8 of the digest, 4 of facts:
//
//	 31      28 27    25 24          18 17          11 10         4 3      0
//	┌──────────┬────────┬──────────────┬──────────────┬────────────┬────────┐
//	│  rule 4  │period 3│    now 7     │   before 7   │   mean 7   │  age 4 │
//	└──────────┴────────┴──────────────┴──────────────┴────────────┴────────┘
const (
	// Version is the first byte of a batch.
	Version = 1
	// RecordBytes is the size of a record.
	RecordBytes = 12
	// MaxRules is how many rules the table of a batch holds.
	MaxRules = 16
	// Units is how many parts a limit is counted in. A limit up to it is counted exactly.
	Units = 100
	// Means is how many parts of a period a mean time is told in.
	Means = 128

	maxCount = 1<<7 - 1
	maxAge   = 1<<4 - 1
)

// Flags of a batch.
const (
	flagRelayed = 1 << iota
	flagAlone
	flagsKnown = flagRelayed | flagAlone
)

// ErrBatch is the error of a batch that does not parse.
var ErrBatch = errors.New("counts: malformed batch")

// Rule is an entry of a batch's table of rules.
type Rule struct {
	// Name is the rule's, 1..64 bytes.
	Name string
	// Terms are those of the sender's rule: see Terms.
	Terms uint32
}

// Head is a batch without its records.
type Head struct {
	// Relayed says that a node of the receiver's PoP passes the batch on.
	Relayed bool
	// Alone says that the counts are of a node, which counts without its PoP.
	Alone bool
	// Origin is the PoP, or the node, whose counts they are, 1..255 bytes; with Relayed only.
	Origin string
	// Issued is when they were sent, Unix milliseconds by the sender's clock; with Relayed only.
	Issued int64
	// Rules are the rules of the records, at most MaxRules.
	Rules []Rule
}

// Record is the admissions of an origin of a key.
type Record struct {
	Digest Digest
	// Rule is the rule's place in the batch's table, 0..15.
	Rule int
	// Period is the number of the counting period of Now; a parsed record has only the lowest three
	// bits: see PeriodNear.
	Period uint32
	// Now and Before are the admissions in Period and in the period before it, in units of the
	// limit, rounded down: see UnitOf.
	Now, Before uint8
	// Mean is the mean time of Now's admissions since the period began, in 128ths of the period,
	// rounded down.
	Mean uint8
	// Age is how long before the batch was sent the counts were those of the ring: see AgeOf.
	Age uint8
}

// UnitOf returns the cost of a unit of a limit.
func UnitOf(limit int64) int64 { return max(1, (limit+Units-1)/Units) }

// Terms returns a fingerprint of a rule's limit and window. Counts under other terms are in other
// units and periods.
func Terms(limit int64, length time.Duration, shadow bool) uint32 {
	const odd = 0x9e3779b97f4a7c15
	h := (uint64(limit)*odd ^ bits.RotateLeft64(uint64(length/time.Millisecond)*odd, 29)) * odd
	if shadow {
		h = ^h
	}
	return uint32(h >> 32)
}

// AgeOf returns the code of an age: the smallest that stands for at least that long.
func AgeOf(age, period time.Duration) uint8 {
	code := uint8(0)
	for code < maxAge && Age(code, period) < age {
		code++
	}
	return code
}

// Age returns the time that a code stands for, period·2^(code-10).
func Age(code uint8, period time.Duration) time.Duration { return period << code >> 10 }

// PeriodNear returns the number of the period of a record, of which low are the lowest three bits.
// running is the period in which the batch was sent: a record is at most six periods older, and at
// most a period newer where clocks differ.
func PeriodNear(low, running uint32) uint32 { return running + 1 - (running+1-low)&7 }

// AppendHead appends h to b.
func AppendHead(b []byte, h *Head) []byte {
	flags := byte(0)
	if h.Relayed {
		flags |= flagRelayed
	}
	if h.Alone {
		flags |= flagAlone
	}
	b = append(b, Version, flags)
	if h.Relayed {
		b = append(b, byte(len(h.Origin)))
		b = append(b, h.Origin...)
		b = binary.AppendVarint(b, h.Issued)
	}
	b = append(b, byte(len(h.Rules)))
	for n := range h.Rules {
		b = append(b, byte(len(h.Rules[n].Name)))
		b = append(b, h.Rules[n].Name...)
		b = binary.LittleEndian.AppendUint32(b, h.Rules[n].Terms)
	}
	return b
}

// AppendRecord appends r to b.
func AppendRecord(b []byte, r *Record) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(r.Digest))
	// 4 bits
	facts := uint32(r.Rule&(MaxRules-1))<<28 | r.Period&7<<25 | uint32(r.Now&maxCount)<<18 |
		uint32(r.Before&maxCount)<<11
	return binary.LittleEndian.AppendUint32(b,
		facts|uint32(r.Mean&(Means-1))<<4|uint32(r.Age&maxAge))
}

// ParseHead returns the head of batch b, and its records' bytes: a whole number of records, of
// rules in the table.
func ParseHead(b []byte) (h Head, records []byte, err error) {
	r := packet.Reader{Rest: b}
	version, flags := r.Byte(), r.Byte()
	if version != Version || flags&^flagsKnown != 0 {
		return Head{}, nil, ErrBatch
	}
	h.Relayed, h.Alone = flags&flagRelayed != 0, flags&flagAlone != 0
	if h.Relayed {
		if h.Origin, h.Issued = r.Text(), r.Varint(); h.Origin == "" {
			return Head{}, nil, ErrBatch
		}
	}
	rules := r.Byte()
	if rules > MaxRules {
		return Head{}, nil, ErrBatch
	}
	for range rules {
		rule := Rule{Name: r.Text(), Terms: r.Uint32()}
		if rule.Name == "" {
			return Head{}, nil, ErrBatch
		}
		h.Rules = append(h.Rules, rule)
	}
	if r.Rest == nil || len(r.Rest)%RecordBytes != 0 {
		return Head{}, nil, ErrBatch
	}
	for rest := r.Rest; len(rest) > 0; rest = rest[RecordBytes:] {
		if rest[RecordBytes-1]>>4 >= rules {
			return Head{}, nil, ErrBatch
		}
	}
	return h, r.Rest, nil
}

// ParseRecord returns the first of records, which ParseHead returned and which are not empty, and
// the rest.
func ParseRecord(records []byte) (r Record, rest []byte) {
	facts := binary.LittleEndian.Uint32(records[8:])
	return Record{
		Digest: Digest(binary.LittleEndian.Uint64(records)),
		// 7 bits each
		Rule:   int(facts >> 28),
		Period: facts >> 25 & 7,
		Now:    uint8(facts >> 18 & maxCount),
		Before: uint8(facts >> 11 & maxCount),
		Mean:   uint8(facts >> 4 & (Means - 1)),
		Age:    uint8(facts & maxAge),
	}, records[RecordBytes:]
}

// RecordOf returns the record of totals, which were those of the origin's ring age before the batch
// is sent.
func RecordOf(totals *window.Totals, limit int64, length, age time.Duration) Record {
	unit, now := UnitOf(limit), totals.By[0]
	r := Record{
		Period: totals.Period, Now: inUnits(now.Admitted, unit),
		Before: inUnits(totals.By[1].Admitted, unit),
		Age:    AgeOf(age, window.CountingPeriod(length)),
	}
	if now.Admitted > 0 {
		// below Means
		r.Mean = uint8(min(max(now.Times/now.Admitted, 0)*Means/window.TimeParts, Means-1))
	}
	return r
}

// inUnits returns cost in units, rounded down, at most the maximum of a record.
func inUnits(cost, unit int64) uint8 { return uint8(min(max(cost, 0)/unit, maxCount)) } // bounded
