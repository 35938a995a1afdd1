package control

import (
	"math"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// thousand is a rule in count mode whose window is steered.
var thousand = mitigation.Rule{
	Name: "r", Limit: 1000, Window: time.Second,
	Scope: mitigation.Global, Fairness: mitigation.FairRequests,
}

// teller is an origin that tells an aggregate what it admits.
type teller struct {
	name     string
	rate     float64 // offered a second, as it is told
	totals   window.Totals
	says     float64 // admitted a second, as it is told
	admitted float64 // since the start
	told     int64
}

// tell admits cost and reports it at now.
func (o *teller) tell(a *Aggregate, now window.Instant, cost float64) {
	o.admitted += cost
	o.totals.Roll(uint32(now / window.Instant(time.Second)))
	more := int64(o.admitted) - o.told
	o.told += more
	o.totals.By[0].Admitted += more
	o.totals.By[0].Offered += more
	a.Merge(now, o.name, Report{
		Rate: o.rate, Admitted: o.says, Over: time.Second,
		Totals: o.totals,
	}, 10)
}

// TestCountsBringAShortWindowToItsLimit: in count mode, too, an excess is made up for within the
// window, and so is a rate that is told as too low or too high: by what the counts say was
// admitted.
func TestCountsBringAShortWindowToItsLimit(t *testing.T) {
	for _, c := range []struct{ told, most, least float64 }{
		{5000, 1.01, 0.98},
		{4500, 1.045, 1},
		{5150, 1.01, 0.98},
	} {
		a, o, now, step := NewAggregate(&thousand), teller{name: "ams", rate: c.told, says: 1000},
			noon, 50*time.Millisecond
		pass, seconds := 5000.0, [6]float64{}
		o.tell(a, now, 1)
		for at := time.Duration(0); at < 6*time.Second; at += step {
			cost := pass * step.Seconds()
			seconds[at/time.Second] += cost / 1000
			now = now.Add(step)
			o.tell(a, now, cost)
			if a.Step(now, 0); at >= 200*time.Millisecond {
				pass = 5000 * a.Limit() / a.Sum()
			}
		}
		for n, sum := range seconds[2:] {
			if sum < c.least || sum > c.most {
				t.Errorf("told %.0f of 5000: %.3f limits in second %d, want %v to %v", c.told, sum,
					n+3, c.least, c.most)
			}
		}
	}
}

// TestALeapMakesNoRoomBeforeItLeaves: in count mode, too, a window that holds a leap gets no more
// than what leaves it next, until the leap does: 0.75 of the limit came in the leap, and 0.5 a
// second leave before that.
func TestALeapMakesNoRoomBeforeItLeaves(t *testing.T) {
	a, o, now, step := NewAggregate(&thousand), teller{name: "ams", rate: 500, says: 500},
		noon, 25*time.Millisecond
	o.tell(a, now, 1)
	pass, sum := 500.0, 0.0
	for at := -2 * time.Second; at < 950*time.Millisecond; at += step {
		if at == 0 {
			o.rate, pass = 5000, 5000
		}
		cost := pass * step.Seconds()
		if at >= 0 {
			sum += cost / 1000
		}
		now = now.Add(step)
		o.tell(a, now, cost)
		if a.Step(now, 0); at >= 150*time.Millisecond {
			pass = 5000 * a.Limit() / a.Sum()
		}
	}
	if sum > 1.12 {
		t.Errorf("%.3f limits in 0.95 s after a leap", sum)
	}
}

// TestAfterALeapTotalsTellTheRate: in count mode, where a PoP's rate is a mean over the window, the
// growth of its totals is the sum for two seconds after a leap. Reports a moment apart do not make
// a rate of their own.
func TestAfterALeapTotalsTellTheRate(t *testing.T) {
	a, o, now := NewAggregate(&thousand), teller{name: "ams", rate: 500}, noon
	for n := range 40 { // pairs of reports, 2 and 48 ms apart
		if now = now.Add(48 * time.Millisecond); n%2 == 0 {
			now = now.Add(-46 * time.Millisecond)
		}
		o.tell(a, now, 500*0.025)
		if a.Step(now, 0); math.Abs(a.Sum()-500) > 1 {
			t.Fatalf("before the leap a sum of %.0f", a.Sum())
		}
	}
	o.rate = 2500
	for at := 25 * time.Millisecond; at <= 2500*time.Millisecond; at += 25 * time.Millisecond {
		now = now.Add(25 * time.Millisecond)
		o.tell(a, now, 5000*0.025)
		a.Step(now, 0)
		if at > 1200*time.Millisecond && at < 1900*time.Millisecond &&
			math.Abs(a.Sum()-5000) > 250 {
			t.Fatalf("%v after the leap a sum of %.0f, want 5000", at, a.Sum())
		}
	}
	if a.Sum() > 2600 {
		t.Errorf("a sum of %.0f, long after the leap, of a PoP that reports 2500", a.Sum())
	}
}

// TestALongerMeanLacksMoreOfALeap: after a leap less than the limit is admitted, in proportion to
// the time over which rates are averaged, for two seconds.
func TestALongerMeanLacksMoreOfALeap(t *testing.T) {
	for _, c := range []struct {
		over, after time.Duration
		want        float64
	}{{200 * time.Millisecond, time.Second, 9750}, {
		320 * time.Millisecond, time.Second,
		9600,
	}, {time.Second, time.Second, 9550}, {time.Second, 2500 * time.Millisecond, 10_000}} {
		a, now := NewAggregate(&second), noon
		d := countsOf(now, 50_000, 50_000, 50_000)
		d.Over, d.Admitted = c.over, 1000
		a.Merge(now, "ams", d, 10)
		a.Step(now, 0)
		if a.Step(now.Add(c.after), 0); math.Abs(a.Limit()-c.want) > 1 {
			t.Errorf("%v after a leap, means over %v: a limit of %.0f in effect, want %.0f",
				c.after, c.over, a.Limit(), c.want)
		}
	}
}

// TestFirstTotalsAreOfNobodyKnowsWhen: an owner that is new to a key does not take a PoP's totals
// so far for what happened now.
func TestFirstTotalsAreOfNobodyKnowsWhen(t *testing.T) {
	a, o, now := NewAggregate(&thousand), teller{name: "ams", rate: 5000, says: 1000},
		noon.Add(500*time.Millisecond)
	a.Step(now, 0)
	o.tell(a, now, 900)
	now = now.Add(50 * time.Millisecond)
	a.Step(now, 0)
	if o.tell(a, now, 30); a.Excess() != 0 {
		t.Errorf("an excess of %v", a.Excess())
	}
	now = now.Add(50 * time.Millisecond)
	if a.Step(now, 0); a.Limit() < a.rule.PerSecond() {
		t.Errorf("a limit of %.0f in effect, after 30 since it is known", a.Limit())
	}
}

// TestCountsBeyondAShareAreNotBelievedForLong: a PoP that claims to admit ten limits lowers the
// limit in effect until the shares are known, and no longer.
func TestCountsBeyondAShareAreNotBelievedForLong(t *testing.T) {
	rule := thousand
	rule.Fairness = mitigation.FairPoPs
	a, now, step := NewAggregate(&rule), noon, 50*time.Millisecond
	honest, liar := teller{name: "ams", rate: 300, says: 300},
		teller{name: "lhr", rate: 10_000, says: 300}
	for at := time.Duration(0); at < 8*time.Second; at += step {
		now = now.Add(step)
		honest.tell(a, now, 300*step.Seconds())
		liar.tell(a, now, 10_000*step.Seconds())
		a.Step(now, 0)
		share := a.View(now, "ams").Share
		if believed := rule.Window + AssuredAfter; at > time.Second &&
			at < believed && share >= 300 {
			t.Fatalf("after %v a share of %.0f: nothing is believed", at, share)
		} else if at > believed+patience+rule.Window+step && share < 300 {
			t.Fatalf("after %v a share of %.0f for a PoP that asks for 300", at, share)
		}
	}
}

// TestOfABinAPartLeavesTheWindow: whenever an owner steps, a PoP that admits the limit's pace
// leaves the limit in effect as it is. (Counted whole until its end, the oldest bin would take half
// of itself from the limit.)
func TestOfABinAPartLeavesTheWindow(t *testing.T) {
	for _, step := range []time.Duration{
		50 * time.Millisecond, 37 * time.Millisecond,
		53 * time.Millisecond,
	} {
		a, now := NewAggregate(&second), noon
		for at := time.Duration(0); at < 4*time.Second; at += step {
			now = now.Add(step)
			d := countsOf(now, 50_000, 20_000, 20_000)
			d.Admitted = 10_000
			a.Merge(now, "ams", d, 10)
			if a.Step(now, 0); at > 3*time.Second && a.Limit() < 9_990 {
				t.Fatalf("steps of %v: a limit of %.0f a second in effect", step, a.Limit())
			}
		}
	}
}
