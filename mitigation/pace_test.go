package mitigation

import (
	"math"
	"testing"
	"time"
)

func TestPace(t *testing.T) {
	const flush = 100 * time.Millisecond
	short := PaceFor(&Rule{Limit: 10_000, Window: time.Second}, flush)
	long := PaceFor(&Rule{Limit: 600, Window: time.Minute}, flush)
	tiny := PaceFor(&Rule{Limit: 5, Window: time.Minute}, flush)
	if short.Pay != 4*flush || long.Pay != 2*time.Second || short.Lag != 2*flush {
		t.Errorf("short %+v, long %+v", short, long)
	}
	for _, c := range []struct {
		name       string
		pace       Pace
		offered    int64
		rate, debt float64
		want       float64
	}{
		{"at the limit", short, 10_000, 50_000, 0, 0},
		{"five times", short, 50_000, 50_000, 0, 0.8},
		{"five times, too much let through", short, 50_000, 50_000, 200, 1 - 9500.0/50_000},
		{"five times, too little", short, 50_000, 50_000, -200, 1 - 10_500.0/50_000},
		{"a fifth gets through whatever is owed", short, 50_000, 50_000, 1e9, 1 - 2000.0/50_000},
		{"over, but slow of late", short, 11_000, 9000, 0, 0},
		{"long: the ceiling does the rest", long, 12_000, 200, 0, 1 - (10+60)/200.0},
		{"long: the debt does not matter", long, 12_000, 200, 1e9, 1 - (10+60)/200.0},
		{"little arrives unseen", long, 700, 12, 0, 0},
		{"one may arrive unseen", tiny, 300, 5, 0, 0},
		{"two may not", tiny, 600, 10, 0, 1 - (5.0/60+5)/10},
	} {
		if got := c.pace.Ratio(c.offered, c.rate, c.debt).Float(); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%s: %.4f, want %.4f", c.name, got, c.want)
		}
	}
}

func TestByCount(t *testing.T) {
	const flush = 100 * time.Millisecond
	short := Rule{Limit: 100, Window: 10 * time.Second}
	long, rates := short, Rule{Limit: 10_000, Window: time.Second}
	long.Window = time.Minute
	for _, c := range []struct {
		name             string
		rule             *Rule
		ratio            float64
		offered, unheard int64
		want             float64
	}{
		{"within the limit", &short, 0.5, 100, 0, 0},
		{"short: counts shed more", &short, 0.5, 400, 0, 0.75},
		{"short: the ratio sheds more", &short, 0.9, 400, 0, 0.9},
		{"long: the ratio stands", &long, 0.5, 400, 0, 0.5},
		{"what is known as a rate counts", &long, 0.5, 60, 50, 0.5},
		{"but makes counts no better", &short, 0.5, 400, 1, 0.5},
		{"not enough of it", &short, 0.5, 60, 40, 0},
		{"judged by rates", &rates, 0.5, 0, 0, 0.5},
	} {
		if got := ByCount(c.rule, RatioFor(1/(1-c.ratio), 1), c.offered, c.unheard, flush).Float(); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%s: %.4f, want %.4f", c.name, got, c.want)
		}
	}
}

func TestByLoss(t *testing.T) {
	for mode, want := range map[FailureMode]struct {
		ruling Ruling
		why    Why
	}{FailLocal: {AskCount, Unrefused}, FailAllow: {LetPass, Unrefused}, FailDeny: {Stop, ByLimit}} {
		if ruling, why := ByLoss(&Rule{FailureMode: mode}); ruling != want.ruling || why != want.why {
			t.Errorf("%v: %v, %v", mode, ruling, why)
		}
	}
}

// TestOnlyTheRatioMoves: a flag whose ratio is set anew has stood since it was first set.
func TestOnlyTheRatioMoves(t *testing.T) {
	table := NewTable(1 << 16)
	f := flag(1, Shed, Ring, time.Second)
	table.Put(now, f)
	later := f
	later.Ratio, later.Since = 7, now.Add(time.Second/2)
	table.Put(now.Add(time.Second/2), later)
	if got, ok := table.Find(now, f.Index); !ok || got.Since != f.Since || got.Ratio != 7 {
		t.Errorf("%+v, %v", got, ok)
	}
}
