package control_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// tenants is a rule in rate mode whose limit is divided among the PoPs.
var tenants = mitigation.Rule{
	Name: "tenant", Limit: 10_000, Window: time.Second,
	Scope: mitigation.Global,
}

const morning = window.Instant(1_800_000_000 * time.Second)

// report is the report of a PoP that is offered rate and admits admitted, cost per second, with the
// counts that go with them.
func report(now window.Instant, rate, admitted float64) control.Report {
	d := control.Report{
		Rate: rate, Admitted: admitted,
		Over: 200 * time.Millisecond, TTL: time.Minute,
	}
	d.Totals.Period = uint32(now / window.Instant(time.Second))
	for n := range 2 {
		d.Totals.By[n] = window.PeriodTotals{
			Offered:  int64(rate),
			Admitted: int64(min(rate, admitted)),
		}
	}
	return d
}

// divided returns the aggregate of a key that PoPs ask for, 3 s after their first reports.
func divided(
	rule mitigation.Rule, reports map[string]control.Report,
) (*control.Aggregate, window.Instant) {
	a, now := control.NewAggregate(&rule), morning
	for range 60 {
		now = now.Add(50 * time.Millisecond)
		for name, d := range reports {
			d.Totals.Period = uint32(now / window.Instant(time.Second))
			a.Merge(now, name, d, 100)
		}
		a.Step(now, 0)
	}
	return a, now
}

func TestShare(t *testing.T) {
	for _, c := range []struct {
		limit  float64
		others []float64
		want   float64
	}{
		{10, nil, 10},
		{10, []float64{4}, 6},
		{10, []float64{5}, 5},
		{10, []float64{1e9}, 5},
		{10, []float64{1, 8}, 4.5},
		{10, []float64{1, 2, 3, 1e9}, 7. / 3},
		{10, []float64{0, 0, 0}, 10},
		{9, []float64{3, 3, 3}, 2.25},
	} {
		if got := control.Share(c.limit, c.others); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%v beside %v: %v, want %v", c.limit, c.others, got, c.want)
		}
	}
}

// TestShareIsOfTheLimit: all get their demand up to the share of the one that asks for more than
// there is, and together the limit; one that asks for less than an even part gets all of it.
func TestShareIsOfTheLimit(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2)) // a test's
	for range 2000 {
		others := make([]float64, dice.IntN(12))
		for n := range others {
			others[n] = dice.ExpFloat64()
		}
		slices.Sort(others)
		share := control.Share(1, others)
		sum := share
		for _, d := range others {
			sum += min(d, share)
		}
		if math.Abs(sum-1) > 1e-9 || share < 1/float64(len(others)+1)-1e-9 {
			t.Fatalf("share %v beside %v: %v in all", share, others, sum)
		}
	}
}

// TestPoPsShareTheLimit: what each PoP may admit, under both kinds of fairness.
func TestPoPsShareTheLimit(t *testing.T) {
	for _, c := range []struct {
		name    string
		rates   map[string]float64
		want    map[string]float64 // ratio by PoP
		equally float64            // ratio with fairness requests
	}{
		{
			"an even part each",
			map[string]float64{"ams": 15_000, "lhr": 5_000},
			map[string]float64{"ams": 0.667, "lhr": 0},
			0.5,
		},
		{
			"a claim beyond reason",
			map[string]float64{"ams": 1e9, "lhr": 2_600, "nrt": 2_600},
			map[string]float64{"ams": 1, "lhr": 0, "nrt": 0},
			1,
		},
		{
			"all ask for more",
			map[string]float64{"ams": 20_000, "lhr": 10_000},
			map[string]float64{"ams": 0.75, "lhr": 0.5},
			0.667,
		},
		{"one PoP", map[string]float64{"ams": 20_000}, map[string]float64{"ams": 0.5}, 0.5},
	} {
		all := map[string]control.Report{}
		for pop, rate := range c.rates {
			all[pop] = report(morning, rate, min(rate, 5_000))
		}
		for _, fairness := range []mitigation.Fairness{
			mitigation.FairPoPs,
			mitigation.FairRequests,
		} {
			rule := tenants
			rule.Fairness = fairness
			a, now := divided(rule, all)
			for pop, rate := range c.rates {
				want := c.equally
				if fairness == mitigation.FairPoPs {
					want = c.want[pop]
				}
				if got := a.View(now,
					pop).Ratio(rate, time.Second).Float(); math.Abs(got-want) > 0.05 {
					t.Errorf("%s, fairness %v: %s drops %.3f, want %.3f", c.name,
						fairness, pop, got, want)
				}
			}
		}
	}
}

// TestAPoPThatStartsGetsItsShare: the view of a PoP that has asked for nothing yet says how much it
// may admit.
func TestAPoPThatStartsGetsItsShare(t *testing.T) {
	a, now := divided(tenants, map[string]control.Report{"ams": report(morning, 30_000, 10_000)})
	v := a.View(now, "lhr")
	if got := v.Ratio(30_000, time.Second).Float(); math.Abs(v.Share-5_000) > 300 ||
		math.Abs(got-5./6) > 0.02 {
		t.Errorf("share %.0f, ratio %.3f", v.Share, got)
	}
	if v := a.View(now, "ams"); v.Share != 0 {
		t.Errorf("the only PoP that asks has a share of %.0f", v.Share)
	}
}

// TestNodesThatCountAloneShareWithTheirPoP: both origins of a PoP have the part of one.
func TestNodesThatCountAloneShareWithTheirPoP(t *testing.T) {
	a, now := control.NewAggregate(&tenants), morning
	for n := range 60 { // the PoP's own report is repeated too: silence would end it
		now = now.Add(10 * time.Millisecond)
		a.Merge(now, "ams", report(now, 8_000, 2_500), 100)
		a.Merge(now, "lhr", report(now, 4_000, 1_250), 100)
		if n >= 30 {
			a.Merge(now, control.Alone("lhr"), report(now, 4_000, 1_250), 100)
		}
		a.Step(now, 0)
	}
	pop, alone := a.View(now, "lhr").Share, a.View(now, control.Alone("lhr")).Share
	if whole := a.View(now, "ams").Share; pop != alone ||
		math.Abs(pop+alone-whole) > 1 || whole < 4_500 {
		t.Errorf("lhr %.0f, its nodes alone %.0f, ams %.0f", pop, alone, whole)
	}
}

// TestAdmissionsBeyondAShareStopCounting: a PoP that claims to admit more than its share lowers the
// limit in effect for the time in which that may be a leap, and no longer. One that goes back to
// its share is believed again.
func TestAdmissionsBeyondAShareStopCounting(t *testing.T) {
	a, now := control.NewAggregate(&tenants), morning
	run := func(lasts time.Duration, admitted float64) {
		for end := now.Add(lasts); now < end; now = now.Add(50 * time.Millisecond) {
			a.Merge(now, "ams", report(now, 1e9, admitted), 100)
			a.Merge(now, "lhr", report(now, 3_000, 3_000), 100)
			a.Step(now, 0)
		}
	}
	run(time.Second, 1e9)
	if v := a.View(now, "lhr"); v.Limit > 0.3*1e4 {
		t.Errorf("a leap is not made up for: limit %.0f", v.Limit)
	}
	run(4*time.Second, 1e9)
	if v := a.View(now, "lhr"); v.Limit < 0.9*1e4 || v.Ratio(3_000, time.Second) != 0 {
		t.Errorf("after 5 s of a lie the limit is %.0f, ratio %v", v.Limit,
			v.Ratio(3_000, time.Second))
	}
	run(10*time.Second, 7_000)
	run(time.Second, 1e9)
	if v := a.View(now, "lhr"); v.Limit > 0.3*1e4 {
		t.Errorf("the second leap is not made up for: limit %.0f", v.Limit)
	}
}

// TestFairnessChanges: a reload takes effect with the next step.
func TestFairnessChanges(t *testing.T) {
	a, now := divided(tenants, map[string]control.Report{
		"ams": report(morning, 30_000, 5_000),
		"lhr": report(morning, 30_000, 5_000),
	})
	if a.View(now, "ams").Share == 0 || a.Parts(now)[0].Share == 0 {
		t.Error("no shares")
	}
	requests := tenants
	requests.Fairness = mitigation.FairRequests
	a.SetRule(&requests)
	if a.Step(now, 0); a.View(now, "ams").Share != 0 {
		t.Error("still divided")
	}
}

// TestLesserByShare: of two views the one by which less is dropped stands, with its share.
func TestLesserByShare(t *testing.T) {
	high := control.GlobalView{
		Sum: 30_000, Limit: 10_000, Share: 1_000,
		EchoRate: 4_000, Shed: true,
	}
	low := high
	low.Share = 5_000
	for _, v := range []control.GlobalView{high.Lesser(low), low.Lesser(high)} {
		if v.Share != 5_000 || v.Ratio(4_000, time.Second) != 0 {
			t.Errorf("share %.0f", v.Share)
		}
	}
	equal := high
	equal.Share = 0 // of a version before shares: two thirds, where high drops three quarters
	if v := high.Lesser(equal); v.Share != 0 {
		t.Errorf("share %.0f", v.Share)
	}
}

// TestMissingPoPsHaveAPart: a new owner that knows one or two of five PoPs leaves the others their
// part, as many as their rate makes, and at most those that are missing.
func TestMissingPoPsHaveAPart(t *testing.T) {
	for _, c := range []struct {
		last float64 // the sum that the known PoPs report from before
		want float64 // the share of each
	}{{20_000, 10_000 / 3.}, {30_000, 2_500}, {60_000, 2_000}} {
		a, now := control.NewAggregate(&tenants), morning
		a.CarryOver(now, time.Minute, 5)
		for range 60 {
			now = now.Add(50 * time.Millisecond)
			for _, name := range []string{"ams", "lhr"} {
				d := report(now, 7_500, 500)
				d.LastSum = c.last
				a.Merge(now, name, d, 100)
			}
			a.Step(now, 0)
		}
		if got := a.View(now, "ams").Share; math.Abs(got-c.want) > 0.02*c.want {
			t.Errorf("of %.0f in all: share %.0f, want %.0f", c.last, got, c.want)
		}
	}
}
