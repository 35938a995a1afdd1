package sets

import (
	"hash/maphash"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Set is a set in the form in which it is searched: of addresses, or of values with a word beside
// each. It never changes.
type Set struct {
	nets  *Zones // of addresses
	words *words // of values
}

// OfNets returns the set of the addresses in nets.
func OfNets(nets []netip.Prefix) *Set { return &Set{nets: union(nets)} }

// OfValues returns the set of the values of entries. Of two with one value the first counts.
func OfValues(entries []Entry) *Set { return &Set{words: newWords(entries)} }

// words finds values, and the number of the word beside each. Values are kept as 128 bits of a hash
// under seeds of this process: a million of them take 18 MB, whatever their length.
// Arrays by columns rather than a map: a map of a million strings takes several times as much, and the garbage
// collector looks through all of it.
type words struct {
	seeds [2]maphash.Seed
	high  []uint64 // ascending
	low   []uint64
	word  []uint8
	// About four values to an entry, so that a search compares a handful.
	starts []uint32 // by the first bits of high: where they begin
	shift  uint
	// lengths are those of the values that end with *: their beginnings are looked up by length.
	lengths []int
	names   []string // of the words
}

// fingerprint is the hash of a value.
type fingerprint struct {
	high, low uint64
	word      uint8
}

// prefixMark keeps the beginning of a value apart from the same text as a value.
const prefixMark = 1 << 63

// Two hashes of 64 bits under seeds that nobody outside knows: nobody can make two values meet.
func (w *words) hash(value []byte, beginning bool) fingerprint {
	f := fingerprint{high: maphash.Bytes(w.seeds[0], value), low: maphash.Bytes(w.seeds[1], value) &^ prefixMark}
	if beginning {
		f.low |= prefixMark
	}
	return f
}

// newWords makes the table of entries, of which later ones of a value that is there already are
// left out.
func newWords(entries []Entry) *words {
	w := &words{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
	list := make([]fingerprint, 0, len(entries))
	numbers := map[string]uint8{}
	for _, e := range entries {
		value, beginning := strings.CutSuffix(e.Value, "*")
		if beginning && !slices.Contains(w.lengths, len(value)) {
			w.lengths = append(w.lengths, len(value))
		}
		number, ok := numbers[e.Word]
		if !ok {
			number = uint8(len(w.names)) // at most MaxTiers, which is checked before
			numbers[e.Word] = number
			w.names = append(w.names, e.Word)
		}
		f := w.hash([]byte(value), beginning)
		f.word = number
		list = append(list, f)
	}
	slices.SortStableFunc(list, func(a, b fingerprint) int { return compareWide(wide{a.high, a.low}, wide{b.high, b.low}) })
	list = slices.CompactFunc(list, func(a, b fingerprint) bool { return a.high == b.high && a.low == b.low })
	// A search by "acme-eu-*" must come before one by "acme-*".
	slices.SortFunc(w.lengths, func(a, b int) int { return b - a }) // the longest beginning first
	w.fill(list)
	return w
}

// Counting sort: starts first counts, then sums up.
func (w *words) fill(list []fingerprint) {
	bits := uint(1)
	for 1<<bits < len(list)/4 {
		bits++
	}
	w.shift = 64 - bits
	w.starts = make([]uint32, 1<<bits+1)
	w.high, w.low, w.word = make([]uint64, 0, len(list)), make([]uint64, 0, len(list)), make([]uint8, 0, len(list))
	for _, f := range list {
		w.high, w.low, w.word = append(w.high, f.high), append(w.low, f.low), append(w.word, f.word)
		w.starts[f.high>>w.shift+1]++
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

func (w *words) bytes() int64 { return int64(len(w.high))*17 + int64(len(w.starts))*4 }

// Has reports whether value is in the set.
func (s *Set) Has(value []byte) bool { return s.words.find(value) >= 0 }

// HasNumber is has for the decimal digits of n.
func (s *Set) HasNumber(n int64) bool {
	var digits [20]byte
	return s.Has(strconv.AppendInt(digits[:0], n, 10))
}

// HasAddress reports whether a is in the set, which holds addresses.
func (s *Set) HasAddress(a netip.Addr) bool { return s.nets.contains(a) }

// Find returns the number of the word beside value, or -1 where value is not in the set.
func (s *Set) Find(value []byte) int { return s.words.find(value) }

// Words returns the words beside values, by their numbers.
func (s *Set) Words() []string { return s.words.names }

// Bytes returns the memory that the set takes.
func (s *Set) Bytes() int64 {
	if s.nets != nil {
		return s.nets.Bytes()
	}
	return s.words.bytes()
}
