package coordinator_test

import (
	"math"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// An owner lists the rate and ratio of each PoP; other nodes cannot.
func TestOwnersListParts(t *testing.T) {
	f := newFleet(t, second, 2, 2, 2)
	rates := map[string]float64{"a": 30_000, "b": 15_000, "c": 5_000}
	f.run(3*time.Second, asked(rates))
	owner, standby := f.owners()
	for _, n := range f.order {
		shares := n.Explain(f.now, "r", []byte("k")).Parts
		if n != owner && n != standby {
			if len(shares) != 0 {
				t.Errorf("%s knows the shares of a key that others add up: %+v", n.name, shares)
			}
			continue
		}
		if len(shares) != len(rates) {
			t.Errorf("%s: %+v", n.name, shares)
		}
		for _, s := range shares {
			if math.Abs(s.Rate-rates[s.PoP]) > 0.02*rates[s.PoP] ||
				math.Abs(s.Ratio.Float()-0.8) > 0.02 || s.Alone ||
				f.now.Sub(s.ReportedAt) > time.Second {
				t.Errorf("%s: %+v", n.name, s)
			}
		}
	}
	if other := owner.Explain(f.now, "r", []byte("other")).Parts; other != nil {
		t.Errorf("a key that nobody asks for: %+v", other)
	}
}

// Old reports are no parts, and nodes that count alone are listed apart from their PoP.
func TestPartsAreRecent(t *testing.T) {
	f := newFleet(t, second, 1)
	a := control.NewAggregate(&second)
	now := f.now
	report := func(name string, rate float64) {
		d := control.Report{
			Rate: rate, Over: time.Second,
			Totals: window.Totals{Period: uint32(now / window.Instant(time.Second))},
		}
		d.Totals.By[1].Offered = int64(rate)
		a.Merge(now, name, d, 10)
	}
	report("gone", 500)
	now = now.Add(10 * time.Second)
	report("a", 20_000)
	report(control.Alone("b"), 20_000)
	a.Step(now, 0)
	shares := a.Parts(now)
	if len(shares) != 2 || shares[0].PoP != "a" || shares[0].Alone ||
		shares[1].PoP != "b" || !shares[1].Alone {
		t.Fatalf("%+v", shares)
	}
	if got := shares[1].Ratio.Float(); math.Abs(got-0.761) > 0.01 {
		t.Errorf("ratio %.3f, want 0.75 and, as the sum has just leapt, 4.5 %% less that passes",
			got)
	}
}
