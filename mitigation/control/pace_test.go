package control

import (
	"math"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
)

func TestPace(t *testing.T) {
	const flush = 100 * time.Millisecond
	short := PaceFor(&mitigation.Rule{Limit: 10_000, Window: time.Second}, flush)
	long := PaceFor(&mitigation.Rule{Limit: 6000, Window: time.Minute}, flush)
	tiny := PaceFor(&mitigation.Rule{Limit: 5, Window: time.Minute}, flush)
	if short.Stands != 4*flush || long.Stands != 2*time.Second || short.Lag != 2*flush {
		t.Errorf("short %+v, long %+v", short, long)
	}
	for _, c := range []struct {
		name       string
		pace       Pace
		offered    int64
		rate, want float64
	}{
		{"at the limit", short, 10_000, 50_000, 0},
		{"five times", short, 50_000, 50_000, 0.8},
		{"over, but slow of late", short, 11_000, 9000, 0},
		{"long: the ceiling does the rest", long, 120_000, 2000, 1 - (100+600)/2000.0},
		{"little arrives unseen", long, 7000, 120, 0},
		{"counts alone hold a small limit", tiny, 600, 10, 0},
	} {
		if got := c.pace.Ratio(c.offered, c.rate).Float(); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%s: %.4f, want %.4f", c.name, got, c.want)
		}
	}
}

func TestByCount(t *testing.T) {
	const flush = 100 * time.Millisecond
	short := mitigation.Rule{Limit: 100, Window: 10 * time.Second}
	long, rates := short, mitigation.Rule{Limit: 10_000, Window: time.Second}
	long.Window = time.Minute
	steered := mitigation.Rule{Limit: 1000, Window: time.Second}
	for _, c := range []struct {
		name             string
		rule             *mitigation.Rule
		ratio            float64
		offered, unheard int64
		want             float64
	}{
		{"within the limit", &short, 0.5, 100, 0, 0},
		{"short: counts shed more", &short, 0.5, 400, 0, 0.75},
		{"short: the ratio sheds more", &short, 0.9, 400, 0, 0.9},
		{"steered: the ratio makes up for an excess or a lack", &steered, 0.745, 4000, 0, 0.745},
		{"steered: counts shed more", &steered, 0.5, 4200, 0, 0.75},
		{"long: the ratio stands", &long, 0.5, 400, 0, 0.5},
		{"what is known as a rate counts", &long, 0.5, 60, 50, 0.5},
		{"but makes counts no better", &short, 0.5, 400, 1, 0.5},
		{"not enough of it", &short, 0.5, 60, 40, 0},
		{"judged by rates", &rates, 0.5, 0, 0, 0.5},
	} {
		if got := ByCount(c.rule, mitigation.RatioFor(1/(1-c.ratio), 1), c.offered, c.unheard,
			flush).Float(); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%s: %.4f, want %.4f", c.name, got, c.want)
		}
	}
}

// TestGlobalShedsNobodyByChance: a client below its limit asks for more than the limit's pace
// again and again.
func TestGlobalShedsNobodyByChance(t *testing.T) {
	for _, c := range []struct {
		limit        int64
		window       time.Duration
		modest, over float64 // cost a second
	}{{5, 2 * time.Second, 6, 25}, {20, 10 * time.Second, 4, 100}, {
		1000, time.Second, 1100,
		5000,
	}} {
		p := Pace{
			Limit: c.limit, Open: 1, Window: c.window, Lag: 350 * time.Millisecond,
			Stands: time.Second,
		}
		v := GlobalView{Sum: c.modest, Limit: float64(c.limit) / c.window.Seconds(), Shed: true}
		if got := p.Global(v, c.modest, c.window); got != 0 {
			t.Errorf("%d a %v: %v shed of %v a second", c.limit, c.window, got.Float(), c.modest)
		}
		if v.Sum = c.over; p.Global(v, c.over, c.window) == 0 {
			t.Errorf("%d a %v: nothing shed of %v a second", c.limit, c.window, c.over)
		}
	}
}
