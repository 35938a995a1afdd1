package coordinator

import (
	"math"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/moments"
)

// start is the beginning of a counting period.
const start = window.Instant(1_800_000_000_000_000_000)

func clock(ahead time.Duration) moments.Clock { return moments.ClockOf(time.Minute, ahead) }

func told(units int64, at window.Instant) *control.Sample {
	return &control.Sample{Told: units, ToldFrom: at}
}

func TestOwnAdmissions(t *testing.T) {
	var o own
	c, now := clock(time.Hour), start.Add(5*time.Second)
	o.Note(c, now, told(3, now.Add(-100*time.Millisecond)))
	o.Note(c, now, told(0, now))
	o.Note(c, now, told(7, 0)) // nobody knows when they came
	o.Note(c, now.Add(time.Second), told(2, now.Add(900*time.Millisecond)))
	if l := o.List(); l.After(0) != 5 || l.After(c.Bin(now)) != 2 ||
		l.After(c.Bin(now.Add(-200*time.Millisecond))) != 5 {
		t.Errorf("%v", l)
	}
	o.Note(clock(time.Hour+time.Second), now.Add(2*time.Second), told(1, now.Add(2*time.Second)))
	if got := o.List().After(0); got != 1 {
		t.Errorf("after the clock was set %d are told, want 1", got)
	}
	o = own{}
	if o.Note(moments.Clock{}, now, told(3, now)); o.List() != nil {
		t.Errorf("a rule without lists has %v", o.List())
	}
}

// TestOthersAreBlindAfterAStep: while it is not known where earlier admissions stand, new ones are
// placed by their times.
func TestOthersAreBlindAfterAStep(t *testing.T) {
	now := start.Add(5 * time.Second)
	since := func(o *others, ahead time.Duration, now window.Instant) window.Instant {
		c := clock(ahead)
		fresh := []window.RemoteDelta{{
			Period:       uint32(c.Bin(now) / moments.Parts),
			PeriodTotals: window.PeriodTotals{Offered: 1, Admitted: 1},
		}}
		return o.Place(c, now, moments.List{{Bin: c.Bin(now.Add(-time.Second)), Units: 100}},
			fresh)[0].Since
	}
	var o others
	for _, c := range []struct {
		what  string
		ahead time.Duration
		after time.Duration
		known bool
	}{
		{"at first", time.Hour, 0, true},
		{"a slew", time.Hour + 10*time.Millisecond, 0, true},
		{"a step", 2 * time.Hour, 0, false},
		{"in the next period", 2 * time.Hour, 18 * time.Second, false},
		{"in the one after it", 2 * time.Hour, 20 * time.Second, true},
	} {
		if got := since(&o, c.ahead, now.Add(c.after)) != 0; got != c.known {
			t.Errorf("%s: placed by the list: %v", c.what, got)
		}
	}
	o.Blind(moments.Period(clock(2 * time.Hour).Bin(now.Add(40 * time.Second))))
	if since(&o, 2*time.Hour, now.Add(40*time.Second)) != 0 {
		t.Error("blind, it goes by the list")
	}
}

func TestRoomIsTaken(t *testing.T) {
	r := room{Offered: 10, Admitted: 6}
	fresh := window.PeriodTotals{Offered: 8, Admitted: 4, Times: 400}
	if got := r.Cut(fresh); got != fresh {
		t.Errorf("%+v of %+v", got, fresh)
	}
	if got, want := r.Cut(fresh), (window.PeriodTotals{
		Offered: 2, Admitted: 2,
		Times: 200,
	}); got != want || r != (room{}) {
		t.Errorf("%+v, want %+v; %+v is left", got, want, r)
	}
	all := anyRoom
	if got := all.Cut(window.PeriodTotals{
		Offered:  math.MaxInt64 / 2,
		Admitted: 1,
	}); got.Offered != math.MaxInt64/2 {
		t.Errorf("%+v", got)
	}
}
