package surge

import (
	"cmp"
	"fmt"
	"slices"
)

// The bars of a sign.
const (
	signShare = 0.9 // of the rows with the sign, at least
	signUsual = 0.3 // of usual rows of the same place, at most
	signTimes = 3   // as many as usual
	manyShare = 0.85
	manyUsual = 0.1
	manyTimes = signTimes * signTimes
	maxOfSign = 4    // terms together
	mostLost  = 0.03 // of the cover, where a sign joins the conditions

)

// sign is a difference between the rows of a finding and people.
type sign struct {
	terms        []int // of the candidates
	share, usual float64
}

// signs returns the signs of c, the strongest first.
func (l *look) signs(c *conjunction) []sign {
	like, n := l.alike(c)
	share := func(s *nowSet) float64 {
		return float64(both(c.now[:], s[:], nil)) / float64(max(1, c.rows))
	}
	var all []sign
	var nearly []int
	for i := range l.candidates {
		k := &l.candidates[i]
		if k.class() != who {
			continue
		}
		s := sign{[]int{i}, share(&k.now), upper(float64(both(like[:], k.use[:], nil)), n)}
		if s.share < signShare {
			continue
		}
		if nearly = append(nearly, i); s.usual <= signUsual && s.share >= signTimes*s.usual {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b sign) int {
		return cmp.Compare(b.share/b.usual, a.share/a.usual)
	})
	if len(all) == 0 {
		if s := l.together(c, nearly, like, n); len(s.terms) > 1 && s.usual <= manyUsual &&
			s.share >= manyTimes*s.usual {
			all = append(all, s)
		}
	}
	return all[:min(len(all), maxFound)]
}

// alike returns the usual rows of the same place as c, and how many; of fewer than fewestLast all.
func (l *look) alike(c *conjunction) (like *usualSet, n float64) {
	like = new(usualSet)
	for i := range like {
		like[i] = ^uint64(0)
	}
	for _, t := range c.terms[:c.n] {
		if l.candidates[t].class() == where {
			like.and(&l.candidates[t].use)
		}
	}
	every := new(usualSet)
	l.eachUsual(func(i int, _ []Term) { every.add(i) })
	like.and(every)
	if n = float64(both(like[:], like[:], nil)); n < fewestLast {
		return every, l.inHours + l.inLast
	}
	return like, n
}

// together returns terms of usual rows, hardly ever seen together: such as a browser's accept
// without accept-language. Each time the term leaving the fewest usual rows.
func (l *look) together(c *conjunction, nearly []int, like *usualSet, n float64) (s sign) {
	now, use := c.now, *like
	for len(s.terms) < maxOfSign {
		at, fewest := -1, both(use[:], use[:], nil)
		for _, i := range nearly {
			k := &l.candidates[i]
			if left := both(use[:], k.use[:], nil); left < fewest &&
				float64(both(now[:], k.now[:], nil)) >= manyShare*float64(c.rows) {
				at, fewest = i, left
			}
		}
		if at < 0 {
			break
		}
		s.terms = append(s.terms, at)
		now.and(&l.candidates[at].now)
		use.and(&l.candidates[at].use)
	}
	s.share = float64(both(now[:], now[:], nil)) / float64(max(1, c.rows))
	s.usual = upper(float64(both(use[:], use[:], nil)), n)
	return s
}

// narrow lets the terms of the strongest sign, the path and the method join c where c loses hardly
// any cover: a policy is to be narrower than a path, and than a habit.
func (l *look) narrow(c *conjunction, s *sign) {
	var paths, methods []int
	for i := range l.candidates {
		switch l.candidates[i].Field {
		case "path":
			paths = append(paths, i)
		case "method":
			methods = append(methods, i)
		}
	}
	slices.SortFunc(paths, func(a, b int) int { // the longest first
		return len(l.candidates[b].Text) - len(l.candidates[a].Text)
	})
	for _, i := range slices.Concat(s.terms, paths, methods) {
		if c.n == maxConditions || !l.joins(c, i) {
			continue
		}
		next := *c
		next.terms[next.n] = int16(i)
		next.n++
		next.now.and(&l.candidates[i].now)
		next.use.and(&l.candidates[i].use)
		if l.judge(&next); next.cover >= c.cover-mostLost {
			*c = next
		}
	}
}

// refusals returns the share of refused requests among rows with a status and conditions; is: a
// sign. A report without headers has the conditions of paths alone.
func (l *look) refusals(conditions []Condition) (share float64, is bool) {
	answered, refused := 0.0, 0.0
	for _, r := range l.answers {
		if r.status > 0 && r.has(conditions) {
			if answered++; isRefusal(r.status) {
				refused++
			}
		}
	}
	share = refused / max(1, answered)
	return share, answered >= fewestRows && share >= leastCover &&
		share >= signTimes*upper(l.u.refusals, l.u.answered)
}

// text returns the sign in words.
func (l *look) text(s *sign) string {
	words := ""
	for i, t := range s.terms {
		if i > 0 {
			words += " and "
		}
		words += l.candidates[t].Have()
	}
	return fmt.Sprintf("%s have %s, %s of usual traffic of that kind", percent(s.share), words,
		atMost(s.usual))
}
