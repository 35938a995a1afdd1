package coordinator

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/moments"
)

// pop is a PoP of the property below.
type pop struct {
	came   []moments.Bin // of each admission
	told   int           // how many of them the totals have
	list   moments.List
	totals window.Totals
}

// tell brings totals and list up to date, as if all since the last time had come at the oldest
// one's moment. Counts can be told before their moments are.
func (p *pop) tell(lists bool) {
	for n := p.told; n < len(p.came); n++ {
		b := p.came[p.told]
		if lists {
			p.list = moments.Sum(p.list, moments.List{{Bin: b, Units: 1}})
		}
		period := moments.Period(b)
		p.totals.Roll(period)
		is := p.totals.At(period)
		is.Offered, is.Admitted, is.Times = is.Offered+1, is.Admitted+1,
			is.Times+int64(b%moments.Parts)*window.TimeParts/moments.Parts
		p.totals.Raise(period, is)
	}
	p.told = len(p.came)
}

// owner is an owner's state of a PoP: its last report, and the moments that the growth of its
// totals speaks of.
type owner struct {
	pop
	byTimes moments.List
}

func (o *owner) hear(c moments.Clock, now window.Instant, p *pop) {
	for _, g := range moments.Growth(&o.totals, &p.totals) {
		o.byTimes = moments.Sum(o.byTimes, c.ByTimes(now, &g))
	}
	o.totals, o.list = p.totals, p.list
}

// TestNoAdmissionIsPlacedLate: a node hears late of the admissions of three PoPs, one of which has
// an older version without lists. Two owners take turns who hear of them at other times. Never has
// it more placed from any bin on than came.
func TestNoAdmissionIsPlacedLate(t *testing.T) {
	for seed := range uint64(100) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { place(t, rand.New(rand.NewPCG(seed, 1))) })
	}
}

// scene is what the property plays: one in so many steps of 10 ms a request comes, a PoP tells, its
// words arrive and the node asks.
type scene struct {
	clock  moments.Clock
	pops   [3]pop
	owners [2][3]owner

	comes, tells, arrives, asks int
}

func place(t *testing.T, dice *rand.Rand) {
	s := scene{
		clock: clock(0), comes: 2 + dice.IntN(30), tells: 5 + dice.IntN(200),
		arrives: 2 + dice.IntN(3), asks: 5 + dice.IntN(50),
	}
	var others others
	var merged window.Totals
	var log moments.List
	for now := start; now < start.Add(40*time.Second); now = now.Add(10 * time.Millisecond) {
		if s.step(now, dice); dice.IntN(s.asks) > 0 {
			continue
		}
		totals, list := s.view(now, dice.IntN(3))
		fresh := moments.Growth(&merged, &totals)
		merged.RaiseAll(&totals)
		for _, p := range others.Place(s.clock, now, list, fresh) {
			if p.Since != 0 {
				log = moments.Sum(log, moments.List{{Bin: s.clock.Bin(p.Since), Units: p.Admitted}})
			}
		}
		s.check(t, log)
	}
	if len(log) < 10 {
		t.Errorf("%d placed by lists", len(log))
	}
}

// step lets 10 ms pass.
func (s *scene) step(now window.Instant, dice *rand.Rand) {
	for n := range s.pops {
		if dice.IntN(s.comes) == 0 {
			s.pops[n].came = append(s.pops[n].came, s.clock.Bin(now))
		}
		if dice.IntN(s.tells) > 0 {
			continue
		}
		s.pops[n].tell(n > 0 && dice.IntN(10) > 0)
		for o := range s.owners {
			if dice.IntN(s.arrives) == 0 { // else it is lost
				s.owners[o][n].hear(s.clock, now, &s.pops[n])
			}
		}
	}
}

// view returns what an owner says, or the weaker of both.
func (s *scene) view(now window.Instant, who int) (window.Totals, moments.List) {
	var totals [2]window.Totals
	var lists [2]moments.List
	bin := s.clock.Bin(now)
	for o := range s.owners {
		totals[o].Period = moments.Period(bin)
		for n := range s.owners[o] {
			is := &s.owners[o][n]
			totals[o].Add(&is.totals)
			lists[o] = moments.Sum(lists[o],
				moments.Coarse(moments.Greater(is.byTimes, is.list), bin))
		}
	}
	if who < len(s.owners) {
		return totals[who], lists[who]
	}
	for n := range totals[0].By {
		if totals[1].By[n].Admitted < totals[0].By[n].Admitted {
			totals[0].By[n] = totals[1].By[n]
		}
	}
	return totals[0], moments.Lesser(lists[0], lists[1])
}

// check compares what is placed with what came.
func (s *scene) check(t *testing.T, placed moments.List) {
	t.Helper()
	for _, lump := range placed {
		came := int64(0)
		for n := range s.pops {
			for _, at := range s.pops[n].came {
				if at >= lump.Bin {
					came++
				}
			}
		}
		if got := placed.After(lump.Bin); got > came {
			t.Fatalf("%d are placed from bin %d on, where %d came: %v", got, lump.Bin, came, placed)
		}
	}
}

// TestOneInPlaceOfAnotherIsNotPlacedLate: of two admissions, at 40 and at 48, one owner knows the
// second alone, and by the times of a sum: as of 46. When they are old, the other owner says of
// both when they came. In bins of sixteen, 46 and 40 are one, and there seems to be room at 48. But
// the one that is placed at 46 is the second.
func TestOneInPlaceOfAnotherIsNotPlacedLate(t *testing.T) {
	var o others
	c := clock(0)
	first := c.Bin(start)
	period := moments.Period(first)
	one := []window.RemoteDelta{{
		Period:       period,
		PeriodTotals: window.PeriodTotals{Offered: 1, Admitted: 1},
	}}
	place := func(now moments.Bin, known moments.List) moments.Bin {
		parts := o.Place(c, c.Instant(first+now), known, one)
		if len(parts) != 1 || parts[0].Since == 0 {
			t.Fatalf("%v is placed as %+v", known, parts)
		}
		return c.Bin(parts[0].Since) - first
	}
	if at := place(50, moments.List{{Bin: first + 46, Units: 1}}); at != 46 {
		t.Fatalf("the first one is placed at %d", at)
	}
	if at := place(200,
		moments.List{{Bin: first + 48, Units: 1}, {Bin: first + 40, Units: 1}}); at != 40 {
		t.Errorf("the second one is placed at %d", at)
	}
}
