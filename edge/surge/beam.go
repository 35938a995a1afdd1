package surge

import (
	"math"
	"slices"
)

// judge fills in how much c explains.
//
//	score = cover·ln(cover/usual) - 0.15·(terms - 1)
//
// is the information of c about the excess: a term losing a twentieth of the cover must
// make the usual share three times smaller.
func (l *look) judge(c *conjunction) {
	c.rows = both(c.now[:], c.now[:], nil)
	c.usual = l.shareOf(&c.use)
	c.excess = float64(c.rows)*l.perRow - c.usual*min(l.usual, l.now)
	c.cover = min(1, max(0, c.excess/l.rise))
	c.score = c.cover*math.Log(max(c.cover, 1e-9)/c.usual) - termCost*float64(c.n-1)
}

// shareOf returns the upper end of the share of usual rows in s, of both lists the larger.
func (l *look) shareOf(s *usualSet) float64 {
	h, n := s[:lastWord], s[lastWord:]
	return max(
		upper(float64(both(h, h, nil)), l.inHours),
		upper(float64(both(n, n, nil)), l.inLast),
	)
}

// search returns the conjunction with the highest score: a beam search over up to three terms.
// False: none passes the bars.
func (l *look) search(minRate float64) (best conjunction, ok bool) {
	best.score = -1
	l.best = l.best[:0]
	for i := range l.candidates {
		c := conjunction{n: 1, now: l.candidates[i].now, use: l.candidates[i].use}
		c.terms[0] = int16(i)
		l.judge(&c)
		l.best = keep(l.best, &c)
	}
	for n := 1; ; n++ {
		for i := range l.best {
			if l.best[i].score > best.score {
				best = l.best[i]
			}
		}
		if n == maxConditions {
			break
		}
		l.next = l.next[:0]
		for i := range l.best {
			for k := range l.candidates {
				if c, more := l.with(&l.best[i], k); more {
					l.next = keep(l.next, &c)
				}
			}
		}
		l.best, l.next = l.next, l.best
	}
	return best, best.score > 0 && l.passes(&best, minRate)
}

// with returns c with candidate k. False: too few rows are left, or k says nothing new.
func (l *look) with(c *conjunction, k int) (next conjunction, ok bool) {
	if !l.joins(c, k) {
		return next, false
	}
	add := &l.candidates[k]
	rows := both(c.now[:], add.now[:], nil)
	if rows < l.least() || rows == c.rows &&
		both(c.use[:], add.use[:], nil) == both(c.use[:], c.use[:], nil) {
		return next, false
	}
	next = *c
	next.terms[next.n] = int16(k)
	next.n++
	next.now.and(&add.now)
	next.use.and(&add.use)
	l.judge(&next)
	return next, true
}

// joins reports whether candidate k may join c: a match has each field once.
func (l *look) joins(c *conjunction, k int) bool {
	return !slices.ContainsFunc(c.terms[:c.n], func(t int16) bool {
		return l.candidates[t].Field == l.candidates[k].Field
	})
}

// keep puts c among the best, at most beamWidth, the best first.
func keep(list []conjunction, c *conjunction) []conjunction {
	at := len(list)
	for at > 0 && list[at-1].score < c.score {
		at--
	}
	if at == beamWidth {
		return list
	}
	if len(list) == beamWidth {
		list = list[:beamWidth-1]
	}
	return slices.Insert(list, at, *c)
}

// passes reports whether c is more than chance, and worth a sentence. The chance of so many rows
// where so few are usual is Chernoff's bound, divided by the conjunctions tried.
func (l *look) passes(c *conjunction, minRate float64) bool {
	n, mu := float64(c.rows), c.usual*float64(l.left)
	chance := 0.0
	if n > mu {
		chance = -(n*math.Log(n/mu) - n + mu)
	}
	tried := float64(max(1, len(l.candidates)) * (1 + 2*beamWidth))
	return chance <= math.Log(falseChance/tried) && c.cover >= leastCover &&
		c.usual <= mostUsual && l.rises(c.excess, minRate)
}

// rises reports whether an excess is worth a sentence.
func (l *look) rises(excess, minRate float64) bool {
	return excess >= minRate && excess >= leastRise*l.usual
}

// remove takes the rows of s out: the next search is over the rest.
func (l *look) remove(s *nowSet) {
	n := both(s[:], s[:], nil)
	for i := range l.candidates {
		l.candidates[i].now.without(s)
	}
	l.left -= n
	l.now = max(0, l.now-float64(n)*l.perRow)
	l.rise = max(l.now-l.usual, leastRise*l.now)
}
