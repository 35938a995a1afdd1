package pool_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/pool"
	"github.com/headgate-dev/headgate/window"
)

const start = window.Instant(1e18)

func workers() *pool.Pool {
	c := pool.Default()
	c.Name = "workers"
	return pool.New(&c, start)
}

// seconds runs n steps, with share reported just before each; below 0: it is not.
func seconds(p *pool.Pool, now window.Instant, n int, share float64) window.Instant {
	for range n {
		if share >= 0 {
			p.Report(now.Add(900*time.Millisecond), []byte("w"), uint32(share*pool.Unit))
		}
		now = now.Add(time.Second)
		p.Turn(now)
	}
	return now
}

func TestTheLevelRisesAndFallsInSteps(t *testing.T) {
	p := workers()
	now := start
	for _, c := range []struct {
		n     int
		share float64
		level float64
	}{
		{3, 0.85, 0},
		{1, 0.86, 0.1},
		{12, 1, 1.3},
		{5, 0.80, 1.3},
		{5, 0.70, 1.3},
		{5, 0.69, 1.2},
		{100, 1, 3},
		{10, 0, 2.8},
		{9, -1, 2.8 - 9*0.02 + 0}, // the last report is still good for ten seconds, and low
		{1, -1, 2.6},
		{200, -1, 0},
	} {
		now = seconds(p, now, c.n, c.share)
		if got := p.View().Level; math.Abs(got-c.level) > 1e-9 {
			t.Errorf("%d seconds at %v: level %v, want %v", c.n, c.share, got, c.level)
		}
	}
	if v := p.View(); v.Sources != 0 || v.Reports == 0 {
		t.Errorf("%+v", v)
	}
}

// Above the upper mark without a word: after stale the level falls, whatever was said last.
func TestSilenceEndsShedding(t *testing.T) {
	p := workers()
	now := seconds(p, start, 20, 1)
	if v := p.View(); math.Abs(v.Level-2) > 1e-9 {
		t.Fatalf("%+v", v)
	}
	now = seconds(p, now, 9, -1)
	if v := p.View(); v.Level < 2.8 {
		t.Errorf("within stale the last report holds: %+v", v)
	}
	for range 400 {
		before := p.View().Level
		now = seconds(p, now, 1, -1)
		if p.View().Level > before && p.View().Sources == 0 {
			t.Fatal("the level rises in silence")
		}
	}
	if p.View().Level != 0 || p.Ratio([]byte("test")) != 0 {
		t.Errorf("%+v", p.View())
	}
}

func TestTiersInTheirOrder(t *testing.T) {
	p := workers()
	now := seconds(p, start, 13, 1) // level 1.3
	for tier, want := range map[string]float64{
		"test": 1, "batch": 0.3, "normal": 0, "critical": 0,
		"": 0,
	} {
		if got := p.Ratio([]byte(tier)).Float(); math.Abs(got-want) > 1e-6 {
			t.Errorf("%q: %v, want %v", tier, got, want)
		}
	}
	if p.Ratio([]byte("test")) != mitigation.MaxRatio {
		t.Error("not all of test")
	}
	seconds(p, now, 12, 1) // 2.5
	if got := p.Ratio(nil).Float(); math.Abs(got-0.5) > 1e-6 {
		t.Errorf("without a tier: %v", got)
	}
}

func TestTheMeanOfTheSources(t *testing.T) {
	p := workers()
	for n := range 10 {
		p.Report(start, fmt.Appendf(nil, "w%d", n), uint32(n)*pool.Unit/10)
	}
	p.Report(start, []byte("w0"), pool.Unit)
	p.Turn(start.Add(time.Second))
	if v := p.View(); v.Sources != 10 || math.Abs(v.Mean-0.55) > 1e-9 || v.Level != 0 {
		t.Errorf("%+v", v)
	}
	for n := range pool.MaxSources {
		p.Report(start.Add(time.Second), fmt.Appendf(nil, "x%d", n), 0)
	}
	if v := p.View(); v.Sources != pool.MaxSources || v.Crowded != 10 ||
		p.Report(start, []byte("one more"), 0) {
		t.Errorf("%d sources, %d crowded out", v.Sources, v.Crowded)
	}
}

func TestConfigureKeepsTheLevel(t *testing.T) {
	p := workers()
	now := seconds(p, start, 25, 1)
	c := pool.Default()
	c.Name, c.Order = "workers", []string{"test"}
	p.Configure(&c)
	if v := p.View(); v.Level != 1 || v.Sources != 1 {
		t.Errorf("%+v", v)
	}
	p.Turn(now.Add(24 * time.Hour)) // a machine that slept: bounded, and idle
	if v := p.View(); v.Level != 0 {
		t.Errorf("%+v", v)
	}
}

// load is a model of workers behind the gate: demand by tier as a share of their capacity, and how
// busy they are in the end, from what passes. Requests that find no worker free wait, up to longest
// seconds of work of them, and then go away.
type load struct {
	demand         map[string]float64
	queue, longest float64
}

// second returns how busy the workers are in a second at the pool's level.
func (l *load) second(p *pool.Pool, chance *rand.Rand) float64 {
	work := l.queue
	for tier, d := range l.demand {
		d *= 0.98 + 0.04*chance.Float64()
		work += d * (1 - p.Ratio([]byte(tier)).Float())
	}
	l.queue = max(0, min(work-1, l.longest))
	return min(1, work)
}

// run returns the level after each of n seconds of l.
func (l *load) run(
	p *pool.Pool, now window.Instant, n int, chance *rand.Rand,
) (levels []float64, after window.Instant) {
	for range n {
		now = seconds(p, now, 1, l.second(p, chance))
		levels = append(levels, p.View().Level)
	}
	return levels, now
}

// A closed loop through the workers settles within ten seconds, and then never swings by more than
// one step, whatever the traffic is made of. Where requests queue in front of the workers it may
// first go too far, since a queue hides what was shed; then it comes down once and stays. It ends
// when the load does.
func TestAClosedLoopSettles(t *testing.T) {
	for name, demand := range map[string]map[string]float64{
		"a flood of tests":      {"test": 1.0, "batch": 0.1, "normal": 0.3, "critical": 0.2},
		"too much of all":       {"test": 0.5, "batch": 0.2, "normal": 0.3, "critical": 0.2},
		"much of it critical":   {"test": 0.5, "batch": 0.1, "normal": 0.1, "critical": 0.5},
		"a little too much":     {"test": 0.2, "batch": 0.2, "normal": 0.3, "critical": 0.2},
		"tests and no others":   {"test": 3},
		"none that may be shed": {"critical": 0.6, "test": 0.4},
	} {
		for _, longest := range []float64{0, 1} {
			t.Run(fmt.Sprint(name, ", queue ", longest), func(t *testing.T) {
				p, chance := workers(), rand.New(rand.NewPCG(16, 3))
				l := load{demand: demand, longest: longest}
				levels, now := l.run(p, start, 120, chance)
				settled := levels[10:]
				if longest > 0 {
					settled = levels[40:]
				}
				if low, high := slices.Min(settled), slices.Max(settled); high-low > 0.1+1e-9 {
					t.Errorf("the level is between %v and %v: %v", low, high, levels[:60])
				}
				l.demand = map[string]float64{"normal": 0.3, "critical": 0.1}
				fall, _ := l.run(p, now, 150, chance)
				if !slices.IsSortedFunc(fall[2:], func(a, b float64) int {
					return cmp.Compare(b, a)
				}) || fall[149] != 0 {
					t.Errorf("after the load: %v", fall)
				}
			})
		}
	}
}

func TestRatioAllocatesNothing(t *testing.T) {
	p := workers()
	seconds(p, start, 13, 1)
	tier := []byte(strings.Clone("batch"))
	if n := testing.AllocsPerRun(100, func() { p.Ratio(tier) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
