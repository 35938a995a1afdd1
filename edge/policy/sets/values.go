package sets

import (
	"hash/maphash"
	"slices"
	"sort"
	"strings"
)

// Values collects values for a set, with a word beside each.
// In the columns of the set, since a file may hold a million.
type Values struct {
	w       *words
	lines   []uint32 // by value
	numbers map[string]uint32
}

// Twice is a value standing on two lines.
type Twice struct{ First, Again int }

// NewValues returns an empty collection with room for so many values.
func NewValues(room int) *Values {
	w := &words{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
	w.high, w.low = make([]uint64, 0, room), make([]uint64, 0, room)
	w.word = make([]uint32, 0, room)
	return &Values{w: w, lines: make([]uint32, 0, room), numbers: map[string]uint32{}}
}

// Add adds the value of line, which is above those of all values before. MaxWords bounds the
// words, and MaxValue a value: CheckEntry is asked before.
func (v *Values) Add(e Entry, line int) {
	w := v.w
	value, beginning := strings.CutSuffix(e.Value, "*")
	if beginning && !slices.Contains(w.lengths, len(value)) {
		w.lengths = append(w.lengths, len(value))
	}
	number, ok := v.numbers[e.Word]
	if !ok {
		number = uint32(len(w.names)) // at most MaxWords, which is checked before
		v.numbers[e.Word] = number
		w.names = append(w.names, e.Word)
	}
	f := w.hash([]byte(value), beginning)
	w.high, w.low, w.word = append(w.high, f.high), append(w.low, f.low), append(w.word, number)
	v.lines = append(v.lines, uint32(line)) // of a file of at most 256 MiB
}

// Set returns the set of all values, and those that came twice, of which the first counts. v is of
// no use afterwards.
func (v *Values) Set() (*Set, []Twice) {
	w := v.w
	sort.Sort(v)
	var twice []Twice
	n := 0 // how many different ones
	for i := range w.high {
		if n > 0 && w.high[i] == w.high[n-1] && w.low[i] == w.low[n-1] {
			twice = append(twice, Twice{int(v.lines[n-1]), int(v.lines[i])})
			continue
		}
		w.high[n], w.low[n], w.word[n], v.lines[n] = w.high[i], w.low[i], w.word[i], v.lines[i]
		n++
	}
	if n < cap(w.high) {
		w.high, w.low, w.word = slices.Clone(w.high[:n]), slices.Clone(w.low[:n]),
			slices.Clone(w.word[:n])
	}
	// A search by "acme-eu-*" must come before a search by "acme-*".
	slices.SortFunc(w.lengths, func(a, b int) int { return b - a }) // the longest beginning first
	w.index()
	return &Set{words: w}, twice
}

// Words returns how many different words there are.
func (v *Values) Words() int { return len(v.w.names) }

// HasWord reports whether f holds for a word.
func (v *Values) HasWord(f func(word string) bool) bool { return slices.ContainsFunc(v.w.names, f) }

// Len returns how many values there are.
func (v *Values) Len() int { return len(v.lines) }

// Less orders by hash; equal values stay in the order of their lines.
func (v *Values) Less(i, j int) bool {
	w := v.w
	if a, b := (wide{w.high[i], w.low[i]}), (wide{w.high[j], w.low[j]}); a != b {
		return a.less(b)
	}
	return v.lines[i] < v.lines[j]
}

// Swap exchanges two values.
func (v *Values) Swap(i, j int) {
	w := v.w
	w.high[i], w.high[j] = w.high[j], w.high[i]
	w.low[i], w.low[j] = w.low[j], w.low[i]
	w.word[i], w.word[j] = w.word[j], w.word[i]
	v.lines[i], v.lines[j] = v.lines[j], v.lines[i]
}
