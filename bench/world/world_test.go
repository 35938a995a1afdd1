package main

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// TestThePoPsAlone: without a global control loop each PoP holds the limit by itself. The result is
// known: the lesser of limit and demand of every PoP.
func TestThePoPsAlone(t *testing.T) {
	f := lonelyFleet(100, 20)
	w := newWorld(f, step(20, never))
	w.run(warm + 10*second)
	want := 0.0
	for _, share := range zipf(20) {
		want += min(1, flood*share)
	}
	if got := w.record.mean(warm+second, warm+10*second); math.Abs(got-want) > 0.02*want {
		t.Errorf("%v limits pass, want %v", got, want)
	}
	if got := w.record.dropped(0, warm); got != 0 {
		t.Errorf("below the limit %v are dropped", got)
	}
	if all := w.record.between(warm, warm+10*second); math.Abs(
		float64(all.offered)/500_000-1) > 0.01 {
		t.Errorf("%d offered, want 500,000", all.offered)
	}
}

// TestASeedIsARun: the seed alone decides a run.
func TestASeedIsARun(t *testing.T) {
	sums := func(seed uint64) tally {
		f := lonelyFleet(30, 5)
		f.seed = seed
		w := newWorld(f, step(5, never))
		w.loss = 0.1
		w.run(warm + 2*second)
		return w.record.between(0, w.now)
	}
	if a, b := sums(1), sums(1); a != b {
		t.Errorf("one seed: %+v and %+v", a, b)
	}
	if a, b := sums(1), sums(2); a == b {
		t.Errorf("two seeds: %+v both", a)
	}
}

// TestASeedIsARunOfTheDaemons: it also decides the packets of the daemon's own control loop.
func TestASeedIsARunOfTheDaemons(t *testing.T) {
	run := func() (sent []traffic) {
		f := lonelyFleet(30, 5)
		f.loop = newLoop
		w := newWorld(f, steady(5, 3))
		w.loss = 0.1
		w.run(2 * second)
		w.setMembers(func(n *node) bool { return n.pop.number != 2 })
		w.run(4 * second)
		for _, n := range w.nodes {
			sent = append(sent, n.traffic)
		}
		return sent
	}
	first := run()
	for range 2 {
		if again := run(); !slices.Equal(first, again) {
			t.Fatalf("one seed: %+v and %+v", first, again)
		}
	}
}

// TestTheDead: the other nodes of a PoP take over its requests; without any, the nearest PoP does.
func TestTheDead(t *testing.T) {
	w := newWorld(lonelyFleet(4, 2), steady(2, 0.6))
	w.pops[0].nodes[0].dead = true
	w.run(second)
	w.pops[0].nodes[1].dead = true
	w.run(2 * second)
	if first := w.record.between(0, second).offered; math.Abs(float64(first)-6000) > 400 {
		t.Errorf("%d offered with one dead", first)
	}
	if got := w.record.ticks[150][0].offered; got != 0 {
		t.Errorf("a PoP without nodes is asked %d", got)
	}
	if rest := w.record.between(second, 2*second).offered; math.Abs(float64(rest)-6000) > 400 {
		t.Errorf("%d offered with a PoP dead", rest)
	}
}

func TestKilling(t *testing.T) {
	w := newWorld(lonelyFleet(100, 20), steady(20, 0))
	owner := w.owner()
	w.kill(0.2)
	dead := 0
	for _, n := range w.nodes {
		if n.dead {
			dead++
		}
	}
	if dead != 20 || !owner.dead {
		t.Errorf("%d dead, owner %v", dead, owner.dead)
	}
}

// TestADeadRing: its nodes see their own demand only, and report so.
func TestADeadRing(t *testing.T) {
	w := newWorld(lonelyFleet(8, 2), steady(2, 0.8))
	w.run(2 * second)
	w.setRings(true)
	w.run(4 * second)
	for k, p := range w.pops {
		n := p.nodes[0]
		all := n.limiter.flush(w, n, nil)
		want := 0.8 * zipf(2)[k] * 10_000
		if p.side == 0 {
			want /= 4
		}
		if len(all) != 1 || all[0].Alone != (p.side == 0) ||
			math.Abs(all[0].Report.Rate/want-1) > 0.3 {
			t.Errorf("PoP %d: %+v, want a rate of %v", k, all, want)
		}
	}
}

// TestRealCountersShare: the daemon's own counters over one ring hold a PoP's limit together.
func TestRealCountersShare(t *testing.T) {
	f := lonelyFleet(4, 1)
	f.evidence = "counter"
	w := newWorld(f, steady(1, 3))
	w.run(6 * second)
	if got := w.record.mean(2*second, 6*second); math.Abs(got-1) > 0.05 {
		t.Errorf("%v limits pass", got)
	}
}

func TestDemands(t *testing.T) {
	sum := func(l load, at time.Duration) (all float64, asked int) {
		for k := range 20 {
			d := l(at, k)
			all += d
			if d > 0 {
				asked++
			}
		}
		return all, asked
	}
	for _, c := range []struct {
		what string
		load load
		at   time.Duration
		want float64
		pops int
	}{
		{"before the step", step(20, never), 0, 0.5, 20},
		{"after it", step(20, never), warm, 5, 20},
		{"after its end", step(20, 10*second), 10 * second, 0.5, 20},
		{"moving", moving(20, 20), 7 * second, 5, 1},
		{"by quarters", moving(20, 4), 7 * second, 5, 5},
		{"pulse", pulses(20), 1500 * time.Millisecond, 5, 20},
		{"lull", pulses(20), 2500 * time.Millisecond, 0.3, 20},
		{"hidden", hidden(20), 0, 0.95 + 19*0.4/20, 20},
	} {
		if all, asked := sum(c.load, c.at); math.Abs(all-c.want) > 1e-9 || asked != c.pops {
			t.Errorf("%s: %v from %d PoPs, want %v from %d", c.what, all, asked, c.want, c.pops)
		}
	}
}

func TestTable(t *testing.T) {
	var out bytes.Buffer
	f := fleet{nodes: 1000, pops: 50, flush: flush100}
	runs := []values{
		{"step settled": 0.39, "dropped at 0.90": 0, "jain": 0.9995},
		{"step settled": 0.41, "dropped at 0.90": 1e-9, "jain": 0.9},
	}
	if missed := report(&out, f, []uint64{1, 2}, runs); missed != 2 {
		t.Errorf("%d missed, want 2:\n%s", missed, &out)
	}
	out.Reset()
	if missed := report(&out, f, []uint64{1}, runs[:1]); missed != 0 ||
		!strings.Contains(out.String(), "0.35") {
		t.Errorf("%d missed, want none, with 0.35 of the simple model beside:\n%s", missed, &out)
	}
	f.flush = fastFlush
	if missed := report(&out, f, []uint64{1}, runs[:1]); missed != 1 {
		t.Errorf("fast: %d missed, want 1", missed)
	}
}

func TestHolds(t *testing.T) {
	for name, c := range map[string]struct {
		seeds []float64
		want  bool
	}{
		"a seed inside":              {[]float64{0.99}, true},
		"a seed outside":             {[]float64{1.03}, false},
		"the mean outside, a little": {[]float64{1.03, 1.03}, false},
		"a seed outside a little":    {[]float64{1, 1.03}, true},
		"a seed outside by more":     {[]float64{0.95, 1.05}, false},
		"one of ten by more":         {[]float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1.1}, true},
		"one of ten below by more":   {[]float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 0.9}, true},
		"two of ten by more":         {[]float64{1, 1, 1, 1, 1, 1, 1, 1, 1.1, 0.9}, false},
	} {
		is := target{least: 0.98, most: 1.02}
		if is.holds(fleet{}, c.seeds) != c.want {
			t.Errorf("%s: %v", name, !c.want)
		}
	}
}

func TestNumbers(t *testing.T) {
	got, err := numbers("7,101-103")
	if want := []uint64{7, 101, 102, 103}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for _, text := range []string{"3-1", "-1", "1-", "1-2-3", "0-1000", "a-b"} {
		if got, err := numbers(text); err == nil {
			t.Errorf("%s is taken: %v", text, got)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []options{
		{nodes: "x", seeds: "1", scenarios: "all"},
		{nodes: "3", seeds: "", scenarios: "all"},
		{nodes: "3", seeds: "1", scenarios: "none such"},
		{nodes: "3", pops: "4", seeds: "1", scenarios: "step"},
		{nodes: "3", pops: "0", seeds: "1", scenarios: "step"},
		{nodes: "3", pops: ",", seeds: "1", scenarios: "step"},
	} {
		if _, err := run(o, &bytes.Buffer{}); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
	for n, want := range map[int]int{1: 1, 3: 3, 10: 5, 99: 5, 100: 20, 5000: 50} {
		if got := popsOf(n); got != want {
			t.Errorf("%d nodes in %d PoPs, want %d", n, got, want)
		}
	}
}

// watcher is a control loop that sheds four fifths and adds up its samples.
type watcher struct {
	lonely
	sum   control.Report
	times float64
}

func (c *watcher) Measure(now window.Instant, _ time.Time, all []measured) {
	for _, m := range all {
		if c.w.now > 3*second {
			c.sum.Rate += m.Report.Rate
			c.sum.Admitted += m.Report.Admitted
			c.times++
		}
		c.n.limiter.apply(now, coordinator.Advice{Ratio: ratioOf(0.8), Until: now.Add(second)})
	}
}

// TestEvidenceIsTrue: however rates are taken, their mean is the offered and admitted rate. It is
// nearly so for a key with four requests a second at each node, between two of which its rate could
// settle anew.
func TestEvidenceIsTrue(t *testing.T) {
	for _, c := range []struct {
		evidence     string
		nodes        int
		total, error float64
	}{
		{"boxcar", 5, 2, 0.002},
		{"smooth", 5, 2, 0.002},
		{"counter", 5, 2, 0.002},
		{"counter", 20, 0.008, 0.02},
	} {
		f := lonelyFleet(c.nodes, 1)
		f.evidence = c.evidence
		f.loop = func(w *world, n *node) loop { return &watcher{lonely: lonely{w: w, n: n}} }
		w := newWorld(f, steady(1, c.total))
		w.run(63 * second)
		var sum control.Report
		times := 0.0
		for _, n := range w.nodes {
			c := n.loop.(*watcher)
			sum.Rate, sum.Admitted, times = sum.Rate+c.sum.Rate,
				sum.Admitted+c.sum.Admitted, times+c.times
		}
		truth := w.record.between(3*second, 63*second)
		offered, admitted := sum.Rate/times*60/float64(truth.offered),
			sum.Admitted/times*60/float64(truth.admitted)
		if math.Abs(offered-1) > c.error || math.Abs(admitted-1) > c.error {
			t.Errorf("%s: %v of what was offered, %v of what was admitted",
				c.evidence, offered, admitted)
		}
	}
}

// TestALeapIsHeld: after a leap, under a limit judged by rates, no second is far below the limit,
// for its owner knows what is admitted meanwhile. (It believed a report of 0.5 s before, and made
// up for what it had not known: 0.88.)
func TestALeapIsHeld(t *testing.T) {
	for _, seed := range []uint64{21, 23, 28} {
		v := leaps(fleet{
			flush: 100 * time.Millisecond, batch: 50 * time.Millisecond,
			loop: newLoop, seed: seed,
		})
		if v["leap rates least"] < 0.94 || v["leap rates most"] > 1.04 ||
			v["leap counts most"] > 1.06 {
			t.Errorf("seed %d: %v", seed, v)
		}
	}
}

// TestARingHangsUntilItIsNoticed: its nodes send to it meanwhile, and count alone afterwards.
func TestARingHangsUntilItIsNoticed(t *testing.T) {
	w := newThree(lonelyFleet(6, 3), threeRates,
		unevenly(func(time.Duration) float64 { return 0.8 }))
	w.run(2 * second)
	w.pops[0].ring.stop(w.now, 250*time.Millisecond)
	n := w.pops[0].nodes[0]
	for _, c := range []struct {
		until time.Duration
		alone int
	}{{2*second + 200*time.Millisecond, 0}, {3 * second, 1}} {
		w.run(c.until)
		if all := n.limiter.flush(w, n, nil); len(all) != c.alone || c.alone > 0 && !all[0].Alone {
			t.Errorf("at %v: %+v, want %d that counts alone", c.until, all, c.alone)
		}
	}
	if got := n.limiter.(*counterLimiter).counter.Stats(n.clock(w.now)).Dropped; got == 0 {
		t.Errorf("nothing that was sent to the ring is lost")
	}
}

// TestAColdKey: after the first second of a flood on a key that nobody had asked for, each second
// admits the limit.
func TestAColdKey(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		v := cold(fleet{
			flush: flush100, batch: 50 * time.Millisecond, seed: 101 + seed, rule: perSecond,
			loop: newLoop,
		})
		for _, name := range []string{"cold counts", "cold rates"} {
			if least, most := v[name+" least"], v[name+" most"]; least < 0.95 || most > 1.04 {
				t.Errorf("seed %d, %s: %.3f to %.3f", 101+seed, name, least, most)
			}
		}
	}
}
