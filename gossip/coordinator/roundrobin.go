package coordinator

import "math/rand/v2"

// turnParts is the number of rounds for a turn of every item.
const turnParts = 10

// roundRobin holds the items of rounds: a tenth in turn, and the rest if the caller has time. The
// zero RoundRobin is empty and ready for use.
type roundRobin[T any] struct {
	parts   [turnParts][]T
	scratch []T
}

// Add adds v to a random part, and so spreads the work evenly over the rounds.
func (r *roundRobin[T]) Add(dice *rand.Rand, v T) {
	n := dice.IntN(turnParts)
	r.parts[n] = append(r.parts[n], v)
}

// Each calls look with all, from a random part on. look must not add or drop.
func (r *roundRobin[T]) Each(dice *rand.Rand, look func(v T)) {
	first := dice.IntN(turnParts)
	for n := range turnParts {
		for _, v := range r.parts[(first+n)%turnParts] {
			look(v)
		}
	}
}

// Visit calls look with those whose turn it is in round, then with the other parts while more
// returns true. It drops those for which look returns false; look must not add. Every part starts
// at a random place: the first parts may use up the budget.
func (r *roundRobin[T]) Visit(
	round int, dice *rand.Rand, more func() bool, look func(v T, turn bool) (keep bool),
) {
	for n := 0; n < turnParts && (n == 0 || more()); n++ {
		part := take(&r.scratch, &r.parts[(round+n)%turnParts])
		r.look(dice, func(v T) {
			if look(v, n == 0) {
				*part = append(*part, v)
			}
		})
	}
	clear(r.scratch[:cap(r.scratch)])
}

// take moves a part into scratch, and returns scratch.
func take[T any](scratch, part *[]T) *[]T {
	*scratch = append((*scratch)[:0], *part...)
	clear(*part)
	*part = (*part)[:0]
	return part
}

// look calls f with all of scratch, from a random place on.
func (r *roundRobin[T]) look(dice *rand.Rand, f func(v T)) {
	if len(r.scratch) == 0 {
		return
	}
	first := dice.IntN(len(r.scratch))
	for _, half := range [...][]T{r.scratch[first:], r.scratch[:first]} {
		for _, v := range half {
			f(v)
		}
	}
}
