package ask

import (
	"encoding/binary"
	"iter"
	"math"

	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/mitigation"
)

// record is the part of a request a ticket keeps:
//
//	number of the generation (4 bytes) · leases (1) · places (1) · the number of each (8) ·
//	    then for each question that
//	waits:
//	policy, held (varints: see policy.Pending) · rule (varint) · cost counted so far · length
//	    of key · key
//
// Varints: most numbers are below 128, and a record of a question is its key and some ten bytes. A
// record is checked against the policies in force as it is read: see fits.
type record []byte

// numbersAt is the place of the first lease in a record.
const numbersAt = 4 + 1 + 1

// beginRecord begins a record in the memory of b.
func beginRecord(b []byte, generation uint32, leases, places uint8) record {
	return append(binary.LittleEndian.AppendUint32(b[:0], generation), leases, places)
}

// addNumber adds a lease, or a place behind all leases. All of them come before the first question.
func (r record) addNumber(number uint64) record {
	return binary.LittleEndian.AppendUint64(r, number)
}

// add adds a question.
func (r record) add(q *policy.Question) record {
	counted := uint64(0)
	if q.Counts {
		counted = uint64(max(q.Cost, 1))
	}
	// not negative
	for _, n := range [...]uint64{
		uint64(q.Pending.Policy), q.Pending.Held, uint64(q.Rule), counted,
		uint64(len(q.Key)),
	} {
		r = binary.AppendUvarint(r, n)
	}
	return append(r, q.Key...)
}

// generation returns the number of the asking generation; 0: there is none.
func (r record) generation() uint32 {
	if len(r) < numbersAt {
		return 0
	}
	return binary.LittleEndian.Uint32(r)
}

// leases yields the leases.
func (r record) leases() iter.Seq[uint64] {
	return r.numbers(numbersAt, r.placesAt())
}

// places yields the places of waiting questions.
func (r record) places() iter.Seq[uint64] {
	return r.numbers(r.placesAt(), r.questionsAt())
}

// numbers yields the numbers from a place up to another.
func (r record) numbers(from, to int) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for at := from; at+8 <= to; at += 8 {
			if !yield(binary.LittleEndian.Uint64(r[at:])) {
				return
			}
		}
	}
}

// placesAt returns where the places begin, questionsAt where the questions do, both at most len(r).
func (r record) placesAt() int {
	if len(r) < numbersAt {
		return len(r)
	}
	return min(len(r), numbersAt+8*int(r[numbersAt-2]))
}

func (r record) questionsAt() int {
	if len(r) < numbersAt {
		return len(r)
	}
	return min(len(r), r.placesAt()+8*int(r[numbersAt-1]))
}

// fits reports whether every number of r is of a policy or rule of in; nil: none is.
func (r record) fits(in *generation) bool {
	if in == nil || in.settles == nil || len(r) < numbersAt ||
		len(r) < numbersAt+8*(int(r[numbersAt-2])+int(r[numbersAt-1])) {
		return false
	}
	for rest := r[r.questionsAt():]; len(rest) > 0; {
		var w waiting
		var ok bool
		if w, rest, ok = rest.next(); !ok || w.rule >= len(in.rules) ||
			int(w.pending.Policy) >= in.settles.Len() {
			return false
		}
	}
	return true
}

// waiting is a question of a ticket.
type waiting struct {
	pending policy.Pending
	rule    int    // its place in generation.rules
	counted uint64 // cost
	key     []byte
}

// next reads the question at the begin of r, and returns the rest. ok: r begins with a question.
func (r record) next() (w waiting, rest record, ok bool) {
	var n [5]uint64
	for i := range n {
		v, size := binary.Uvarint(r)
		if size <= 0 {
			return w, nil, false
		}
		n[i], r = v, r[size:]
	}
	if n[0] > math.MaxUint16 || n[2] > math.MaxInt32 || n[3] > mitigation.MaxCost || n[4] == 0 ||
		n[4] > uint64(len(r)) {
		return w, nil, false
	}
	w.pending = policy.Pending{Policy: uint16(n[0]), Held: n[1]} // as just looked at
	w.rule, w.counted, w.key = int(n[2]), n[3], r[:n[4]]         // as above
	return w, r[n[4]:], true
}
