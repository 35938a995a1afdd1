package surge

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
)

// The bars of a finding.
const (
	spanNanos  = 20e9 // of a look
	fewestRows = 20
	perClient  = 4 // rows of a client, for a busy client is no crowd

	maxCandidates = 192
	beamWidth     = 8
	maxConditions = 3
	maxFound      = 3 // of a look

	leastCover  = 0.5  // of the excess
	mostUsual   = 0.30 // of usual traffic
	leastRise   = 0.1  // of the usual rate
	termCost    = 0.15 // of the score, for each term beyond the first
	falseChance = 1e-9 // of a look
)

// A set of rows is a bit each. Rows of usual traffic are first those of the hours, then the last.
type (
	nowSet   [maxRows / 64]uint64
	usualSet [maxUsual / 64]uint64
)

const lastWord = hours * hourRows / 64

func (s *nowSet) add(i int)         { s[i>>6] |= 1 << (i & 63) }
func (s *usualSet) add(i int)       { s[i>>6] |= 1 << (i & 63) }
func (s *nowSet) and(o *nowSet)     { _ = both(s[:], o[:], s[:]) }
func (s *usualSet) and(o *usualSet) { _ = both(s[:], o[:], s[:]) }

func (s *nowSet) without(o *nowSet) {
	for i := range s {
		s[i] &^= o[i]
	}
}

// both counts the rows in a and b, and puts both in to; nil: nowhere.
func both(a, b, to []uint64) (n int) {
	b = b[:len(a)]
	for i := range a {
		x := a[i] & b[i]
		n += bits.OnesCount64(x)
		if to != nil {
			to[i] = x
		}
	}
	return n
}

// candidate is a term of at least a tenth of the rows.
type candidate struct {
	Condition
	now nowSet
	use usualSet
}

// conjunction is up to maxConditions candidates, and the rows with all.
type conjunction struct {
	terms  [maxConditions]int16 // numbers of candidates
	n      int                  // of terms
	now    nowSet
	use    usualSet
	rows   int     // of now
	usual  float64 // upper end of the share of usual traffic
	excess float64 // requests a second
	cover  float64 // of the excess, 0 to 1
	score  float64
}

// look is the memory of a look.
type look struct {
	rows []*row // of now, at most perClient of a client, none covered by a finding
	all  []*row // of now
	// of now, reports included
	answers []*row
	u       *usual
	texts   *texts

	counts     [1 << 14]uint16
	index      [1024]struct{ term, place uint32 } // place 0: empty
	candidates []candidate
	clients    map[row16]int

	// of the rows, a second: now, usually, and the rise, which is to be explained
	now, usual, rise float64
	first, whole     float64 // now and rise, before anything was removed
	span             float64 // of the rows, in nanoseconds
	perRow           float64
	left             int     // rows of no finding of the look
	inHours, inLast  float64 // rows of usual traffic
	best             []conjunction
	next             []conjunction
}

// row16 is a client.
type row16 [16]byte

// take takes the rows of the last spanNanos, or of as long as a ring whose oldest row is at next
// reaches back.
func (l *look) take(rows []row, next int, now int64) {
	l.rows, l.all, l.span = l.rows[:0], l.all[:0], spanNanos
	if oldest := &rows[next]; oldest.n > 0 {
		l.span = min(spanNanos, max(1e9, float64(now-oldest.at)))
	}
	asks := 0
	for i := range rows {
		if r := &rows[i]; r.n > 0 && float64(now-r.at) < l.span {
			l.all = append(l.all, r)
			if !r.report {
				asks++
			}
		}
	}
	// A request both asked for and reported stands in two rows: asks count, where there are any.
	// Of reports the statuses count.
	l.answers = append(l.answers[:0], l.all...)
	if asks*10 >= len(l.all) {
		l.all = slices.DeleteFunc(l.all, func(r *row) bool { return r.report })
	}
	l.clients = make(map[row16]int, len(l.all)) // until the end of the look
	for _, r := range l.all {
		who := r.client
		if l.clients[who]++; l.clients[who] <= perClient {
			l.rows = append(l.rows, r)
		}
	}
}

// rateOf returns how many requests a second the rows of a span stand for.
func rateOf(rows []*row, span float64) (perSecond float64) {
	for _, r := range rows {
		perSecond += float64(r.weight)
	}
	return perSecond / (span / 1e9)
}

// prepare finds the candidates among the rows, and the rows of each.
func (l *look) prepare() {
	l.counts = [len(l.counts)]uint16{}
	for _, r := range l.rows {
		for _, t := range r.terms[:r.n] {
			l.counts[int(t)%len(l.counts)]++
		}
	}
	least := l.least()
	l.candidates = l.candidates[:0]
	l.index = [len(l.index)]struct{ term, place uint32 }{}
	exact := map[Term]int{}
	for _, r := range l.rows {
		for _, t := range r.terms[:r.n] {
			if int(l.counts[int(t)%len(l.counts)]) >= least {
				exact[t]++
			}
		}
	}
	maps.DeleteFunc(exact, func(_ Term, n int) bool { return n < least })
	for _, t := range slices.SortedFunc(maps.Keys(exact), func(a, b Term) int { // the most first
		return cmp.Or(cmp.Compare(exact[b], exact[a]), cmp.Compare(a, b))
	}) {
		is, ok := l.texts.condition(t)
		if !ok || len(l.candidates) == maxCandidates {
			continue
		}
		l.candidates = append(l.candidates, candidate{Condition: is})
		*l.find(t) = struct{ term, place uint32 }{uint32(t), uint32(len(l.candidates))}
	}
	l.mark()
}

// mark notes which rows have which candidates.
func (l *look) mark() {
	for i, r := range l.rows {
		for _, t := range r.terms[:r.n] {
			if at := l.find(t); at.place > 0 {
				l.candidates[at.place-1].now.add(i)
			}
		}
	}
	l.eachUsual(func(i int, terms []Term) {
		for _, t := range terms {
			if at := l.find(t); at.place > 0 {
				l.candidates[at.place-1].use.add(i)
			}
		}
	})
}

// least returns how many rows a condition has at least.
func (l *look) least() int { return max(12, len(l.rows)/10) }

// find returns the place of t in the index.
func (l *look) find(t Term) *struct{ term, place uint32 } {
	for at := t; ; at++ {
		if s := &l.index[int(at)%len(l.index)]; s.place == 0 || s.term == uint32(t) {
			return s
		}
	}
}

// eachUsual calls f for each row of usual traffic, by number.
func (l *look) eachUsual(f func(i int, terms []Term)) {
	for h := range l.u.hour {
		for i := range l.u.hour[h] {
			r := &l.u.hour[h][i]
			f(h*hourRows+i, r.terms[:r.n])
		}
	}
	for i := range l.u.last {
		r := &l.u.last[i]
		f(hours*hourRows+i, r.terms[:r.n])
	}
}

// measure sets the rates by which conjunctions are judged.
func (l *look) measure(usual float64) {
	l.now, l.usual = rateOf(l.rows, l.span), usual
	l.rise = max(l.now-usual, leastRise*l.now)
	l.first, l.whole = l.now, max(l.rise, 1e-9)
	l.left = len(l.rows)
	l.perRow = l.now / max(1, float64(l.left))
	l.inLast = float64(len(l.u.last))
	l.inHours = float64(l.u.rows()) - l.inLast
}

// again returns the conjunction of conditions, judged by the rows of now.
func (l *look) again(conditions []Condition) (c conjunction) {
	c.n = len(conditions)
	for i, r := range l.rows {
		if r.has(conditions) {
			c.now.add(i)
		}
	}
	l.eachUsual(func(i int, row []Term) {
		if hasAll(row, conditions) {
			c.use.add(i)
		}
	})
	l.judge(&c)
	return c
}

// conditions returns the terms of c.
func (l *look) conditions(c *conjunction) (list []Condition) {
	for _, t := range c.terms[:c.n] {
		list = append(list, l.candidates[t].Condition)
	}
	return list
}

// failing reports whether many more responses than usual are 5xx.
func (l *look) failing() bool {
	answered, failed := 0.0, 0.0
	for _, r := range l.answers {
		if r.status > 0 {
			answered++
		}
		if r.status >= 500 {
			failed++
		}
	}
	return answered >= fewestRows &&
		failed/answered > signTimes*upper(l.u.failures, l.u.answered)
}
