package control_test

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/moments"
)

// hundreds is a rule in count mode.
var hundreds = mitigation.Rule{Name: "r", Limit: 600, Window: time.Minute, Scope: mitigation.Global}

// TestViewsHaveTheMomentsOfOthers: the sum of what other PoPs report, and of one that reports no
// moments what the times of its totals say.
func TestViewsHaveTheMomentsOfOthers(t *testing.T) {
	a, now := control.NewAggregate(&hundreds), morning.Add(6*time.Second)
	clock := moments.ClockOf(time.Minute, 0)
	at := func(ago time.Duration) moments.Bin { return clock.Bin(morning.Add(6*time.Second - ago)) }
	told := func(units int64, ago time.Duration, list moments.List) control.Report {
		d := control.Report{Rate: 1, Over: time.Minute, TTL: time.Minute, Moments: list}
		d.Totals.Period = uint32(now / window.Instant(12*time.Second))
		d.Totals.By[0] = window.PeriodTotals{
			Offered: units, Admitted: units,
			Times: units * int64((6*time.Second-ago)*window.TimeParts/(12*time.Second)),
		}
		return d
	}
	step := func() { a.Step(now, 0) }
	a.Merge(now, "old", told(2, 200*time.Millisecond, nil), 10)
	step()
	if v := a.View(now, "new"); len(v.Moments) != 0 {
		t.Errorf("moments %v, though no PoP reports any", v.Moments)
	}
	a.Merge(now, "a", told(5, 6*time.Second,
		moments.List{{Bin: at(100 * time.Millisecond), Units: 5}}), 10)
	a.Merge(now, "b", told(3, 6*time.Second,
		moments.List{{Bin: at(100 * time.Millisecond), Units: 1}, {
			Bin:   at(300 * time.Millisecond),
			Units: 2,
		}}), 10)
	a.Merge(now, "old", told(4, 200*time.Millisecond, nil), 10)
	step()
	for _, c := range []struct {
		to   string
		ago  time.Duration
		want int64
	}{
		{"a", 90 * time.Millisecond, 0},
		{"a", 100 * time.Millisecond, 1},
		{"a", 300 * time.Millisecond, 4},
		{"a", 500 * time.Millisecond, 5},
		{"b", 100 * time.Millisecond, 5},
		{"b", 300 * time.Millisecond, 6},
		{"old", 100 * time.Millisecond, 6},
		{"old", 5 * time.Second, 8},
	} {
		v := a.View(now, c.to)
		if got := v.Moments.After(at(c.ago)); got != c.want {
			t.Errorf("%s is told of %d after %v, want %d: %v", c.to, got, c.ago, c.want, v.Moments)
		}
	}
	now = now.Add(30 * time.Second)
	step()
	if v := a.View(now, "a"); len(v.Moments) != 0 {
		t.Errorf("%v after two periods", v.Moments)
	}
}

// TestBothWitnessesSayWhen: of two views the weaker list counts.
func TestBothWitnessesSayWhen(t *testing.T) {
	one := control.GlobalView{Moments: moments.List{{Bin: 9, Units: 1}, {Bin: 5, Units: 3}}}
	two := control.GlobalView{Moments: moments.List{{Bin: 8, Units: 3}}}
	if got := one.Lesser(two).Moments; got.After(9) != 0 || got.After(8) != 1 ||
		got.After(5) != 3 || got.After(0) != 3 {
		t.Errorf("%v", got)
	}
	if got := one.Lesser(control.GlobalView{}).Moments; got != nil {
		t.Errorf("%v by one of two", got)
	}
}
