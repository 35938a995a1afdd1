package main

import (
	"math"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/window"
)

// TestCensus holds the sources to the numbers known from an independent build of the same traffic.
// They are counts of rare things, so each may be off by four times the root of itself, and one.
func TestCensus(t *testing.T) {
	for _, c := range []struct {
		kind string
		want census
	}{
		{"calm", census{
			Above16th: 37_800, Above10th: 16_500, Above8th: 10_300, Above4th: 2_000,
			AboveHalf: 309, Above: 123, Near: 10, Attackers: 105,
		}},
		{"edge", census{
			Above16th: 37_800, Above10th: 16_500, Above8th: 10_300, Above4th: 2_000,
			AboveHalf: 366, Above: 180, Near: 10, Attackers: 162,
		}},
		{"pareto", census{Above: 437, Near: 104}},
	} {
		got := newTraffic(profiles[c.kind], 1).census
		for _, n := range []struct {
			what      string
			got, want int
		}{
			{"above L/16", got.Above16th, c.want.Above16th},
			{"above L/10", got.Above10th, c.want.Above10th},
			{"above L/8", got.Above8th, c.want.Above8th},
			{"above L/4", got.Above4th, c.want.Above4th},
			{"above L/2", got.AboveHalf, c.want.AboveHalf},
			{"above L", got.Above, c.want.Above},
			{"within 10 % of L", got.Near, c.want.Near},
			{"attackers", got.Attackers, c.want.Attackers},
		} {
			if n.want > 0 && math.Abs(float64(n.got-n.want)) > 1+4*math.Sqrt(float64(n.want)) {
				t.Errorf("%s, sources %s: %d, want about %d", c.kind, n.what, n.got, n.want)
			}
		}
	}
}

// TestTrafficRates holds the requests a second, bursts included, to those of the profiles. Bursts
// are few and heavy, so edge is given 2 %; the pulses of 2,000 sources are 2,000 · 900 a window of
// 1.1.
func TestTrafficRates(t *testing.T) {
	const seconds = 40
	for kind, want := range map[string]float64{
		"calm": 105_786, "edge": 113_123, "pareto": 118_600, "pulse": 105_786 + 2_000*900/66.0,
	} {
		traffic, requests := newTraffic(profiles[kind], 1), 0
		for range seconds * int(time.Second/slotLength) {
			requests += len(traffic.next())
		}
		tolerance := 0.02
		if kind == "pulse" {
			tolerance = 0.06 // the first pulses fall anywhere in the first window
		}
		if got := float64(requests) / seconds; math.Abs(got/want-1) > tolerance {
			t.Errorf("%s: %.0f requests a second, want %.0f", kind, got, want)
		}
	}
}

func TestTrafficIsInOrderAndRepeatable(t *testing.T) {
	one, two := newTraffic(profiles["pulse"], 7), newTraffic(profiles["pulse"], 7)
	last := trafficStart
	for range 300 {
		a, b := one.next(), two.next()
		if len(a) != len(b) {
			t.Fatalf("the same seed made %d and %d requests", len(a), len(b))
		}
		for i := range a {
			if a[i] != b[i] || a[i].at < last || int(a[i].source) >= one.sources() {
				t.Fatalf("request %+v and %+v, the one before at %v", a[i], b[i], last)
			}
			last = a[i].at
		}
	}
}

func TestPulsesAreWhatTheyAreCalled(t *testing.T) {
	traffic := newTraffic(profiles["pulse"], 1)
	first, last := map[uint32]window.Instant{}, map[uint32]window.Instant{}
	counts := map[uint32]int{}
	// no source has pulsed twice by then
	for traffic.now.Sub(trafficStart).Seconds() < pulseEarly*ruleWindow.Seconds() {
		for _, e := range traffic.next() {
			if e.source < sourceCount {
				continue
			}
			if counts[e.source]++; counts[e.source] == 1 {
				first[e.source] = e.at
			}
			last[e.source] = e.at
		}
	}
	if len(counts) < pulseSources/2 {
		t.Fatalf("%d sources pulsed, want most of %d", len(counts), pulseSources)
	}
	for source, n := range counts {
		long := last[source].Sub(first[source])
		if long > pulseLong+2*slotLength {
			t.Errorf("source %d pulsed for %v, want at most %v", source, long, pulseLong)
		}
		if last[source] < traffic.now.Add(-pulseLong) &&
			math.Abs(float64(n)-900) > 5*math.Sqrt(900) {
			t.Errorf("source %d sent %d, want about 900", source, n)
		}
	}
}

func TestPoisson(t *testing.T) {
	dice := newDice(1, 0)
	for _, mean := range []float64{0, 0.27, 30, 1055, 2500} {
		const draws = 4000
		var sum, squares float64
		for range draws {
			n := float64(poisson(dice, mean))
			sum += n
			squares += n * n
		}
		got := sum / draws
		variance := squares/draws - got*got
		if math.Abs(got-mean) > 5*math.Sqrt(mean/draws) || math.Abs(variance-mean) > 0.15*mean {
			t.Errorf("mean %.3f and variance %.3f of draws with mean %.2f", got, variance, mean)
		}
	}
}

func TestAlias(t *testing.T) {
	weights := []float64{1, 0, 5, 2, 0.5, 1.5}
	table, dice := newAlias(weights), newDice(1, 0)
	const draws = 100_000
	counts := make([]float64, len(weights))
	for range draws {
		counts[table.draw(dice)]++
	}
	for i, w := range weights {
		want := draws * w / 10
		if math.Abs(counts[i]-want) > 5*math.Sqrt(want) {
			t.Errorf("index %d of weight %v was drawn %.0f times, want about %.0f",
				i, w, counts[i], want)
		}
	}
}
