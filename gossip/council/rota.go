package council

import "math/rand/v2"

// turnTicks is within how many ticks everything that nothing happened to is looked at.
const turnTicks = 10

// rota is what ticks look at: a tenth of it in turn, and the rest if there is reason to.
type rota[T any] struct {
	parts   [turnTicks][]T
	scratch []T
}

// add makes v part of what is looked at.
func (r *rota[T]) add(dice *rand.Rand, v T) {
	n := dice.IntN(turnTicks)
	r.parts[n] = append(r.parts[n], v)
}

// visit calls look with what is in turn in a round, and then with the rest, a part at a time for as long as more says so. What
// look does not keep is dropped; it must add nothing. A part begins somewhere else each time, for the first may take all that
// there is to be had.
func (r *rota[T]) visit(round int, dice *rand.Rand, more func() bool, look func(v T, turn bool) (keep bool)) {
	for n := range turnTicks {
		if n > 0 && !more() {
			break
		}
		part := &r.parts[(round+n)%turnTicks]
		if len(*part) == 0 {
			continue
		}
		first := dice.IntN(len(*part))
		r.scratch = append(append(r.scratch[:0], (*part)[first:]...), (*part)[:first]...)
		kept := (*part)[:0]
		for _, v := range r.scratch {
			if look(v, n == 0) {
				kept = append(kept, v)
			}
		}
		clear((*part)[len(kept):])
		*part = kept
	}
	clear(r.scratch[:cap(r.scratch)])
}
