package sets

import (
	"hash/maphash"
	"net/netip"
	"strconv"
)

// Set is a set in the form in which it is searched: of addresses, or of values with a word beside
// each. It never changes.
type Set struct {
	nets  *Zones // of addresses
	words *words // of values
}

// OfNets returns the set of the addresses in nets.
func OfNets(nets []netip.Prefix) *Set {
	var r Ranges
	for _, net := range nets {
		r.Add(net)
	}
	return r.Set()
}

// OfValues returns the set of the values of entries. Of two with the same value the first counts.
func OfValues(entries []Entry) *Set {
	v := NewValues(len(entries))
	for i, e := range entries {
		v.Add(e, i)
	}
	set, _ := v.Set()
	return set
}

// words finds values, and the number of the word beside each. Values are kept as 128 bits of a hash
// under seeds of this process: a million of them take 21 MB, whatever their length.
// Arrays by columns rather than a map: a map of a million strings takes several times as much, and
// the garbage collector looks through all of it.
type words struct {
	seeds [2]maphash.Seed
	high  []uint64 // ascending
	low   []uint64
	word  []uint32
	// About four values to an entry, so a search compares a handful.
	starts []uint32 // by the first bits of high: where they begin
	shift  uint
	// lengths are those of the values that end with *: their beginnings are looked up by length.
	lengths []int
	names   []string // of the words
}

// fingerprint is the hash of a value.
type fingerprint struct{ high, low uint64 }

// prefixMark keeps the beginning of a value apart from the same text as a value.
const prefixMark = 1 << 63

// Two hashes of 64 bits under seeds nobody outside knows: nobody can make two values meet.
func (w *words) hash(value []byte, beginning bool) fingerprint {
	f := fingerprint{
		maphash.Bytes(w.seeds[0], value),
		maphash.Bytes(w.seeds[1], value) &^ prefixMark,
	}
	if beginning {
		f.low |= prefixMark
	}
	return f
}

// index notes where the values with the same first bits begin.
// Counting sort: starts first counts, then sums up.
func (w *words) index() {
	bits := uint(1)
	for 1<<bits < len(w.high)/4 {
		bits++
	}
	w.shift = 64 - bits
	w.starts = make([]uint32, 1<<bits+1)
	for _, high := range w.high {
		w.starts[high>>w.shift+1]++
	}
	for i := 1; i < len(w.starts); i++ {
		w.starts[i] += w.starts[i-1]
	}
}

// find returns the number of the word beside value, or -1 where value is not there.
// An exact value goes before any beginning.
func (w *words) find(value []byte) int {
	if n := w.look(w.hash(value, false)); n >= 0 {
		return n
	}
	for _, length := range w.lengths {
		if length <= len(value) {
			if n := w.look(w.hash(value[:length], true)); n >= 0 {
				return n
			}
		}
	}
	return -1
}

func (w *words) look(f fingerprint) int {
	at := f.high >> w.shift
	for i := w.starts[at]; i < w.starts[at+1]; i++ {
		if w.high[i] == f.high && w.low[i] == f.low {
			return int(w.word[i])
		}
	}
	return -1
}

func (w *words) bytes() int64 { return int64(len(w.high))*20 + int64(len(w.starts))*4 }

// Has reports whether value is in the set.
func (s *Set) Has(value []byte) bool { return s.words.find(value) >= 0 }

// HasNumber is has for the decimal digits of n.
func (s *Set) HasNumber(n int64) bool {
	var digits [20]byte
	return s.Has(strconv.AppendInt(digits[:0], n, 10))
}

// HasAddress reports whether a is in the set, which holds addresses.
func (s *Set) HasAddress(a netip.Addr) bool { return s.nets.Find(a) != 0 }

// Zones returns the division of the addresses by the set, which holds addresses: 1 belongs to those
// that it holds.
func (s *Set) Zones() *Zones { return s.nets }

// Find returns the number of the word beside value, or -1 where value is not in the set.
func (s *Set) Find(value []byte) int { return s.words.find(value) }

// Words returns the words beside values, by their numbers.
func (s *Set) Words() []string { return s.words.names }

// Bytes returns the memory the set takes.
func (s *Set) Bytes() int64 {
	if s.nets != nil {
		return s.nets.Bytes()
	}
	return s.words.bytes()
}
