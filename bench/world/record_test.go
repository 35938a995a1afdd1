package main

import (
	"math"
	"testing"
	"time"
)

// recordOf returns a record with a limit of 1,000 a second. Every PoP admits admitted(tick), and
// was offered twice as much.
func recordOf(span time.Duration, pops int, admitted func(t time.Duration, pop int) int64) *record {
	r := newRecord(1000, pops)
	for t := time.Duration(0); t < span; t += tick {
		row := make([]tally, pops)
		for k := range row {
			row[k].admitted = admitted(t, k)
			row[k].offered = 2 * row[k].admitted
		}
		r.add(row)
	}
	return r
}

func near1(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// TestRecordOfAStep: 10 a tick are the limit; for 300 ms it is 50.
func TestRecordOfAStep(t *testing.T) {
	r := recordOf(20*second, 1, func(t time.Duration, _ int) int64 {
		if t >= 5*second && t < 5300*time.Millisecond {
			return 50
		}
		return 10
	})
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"mean", r.mean(0, 5*second), 1},
		{"mean over the step", r.mean(5*second, 6*second), 0.3*5 + 0.7},
		{"excess", r.excess(5*second, 20*second), 0.3 * 4},
		{"excess afterwards", r.excess(6*second, 20*second), 0},
		{"worst second", r.worst(0, 20*second, second), 0.3*5 + 0.7},
		{"worst second elsewhere", r.worst(6*second, 20*second, second), 1},
		{"sliding", r.sliding(0, 20*second, 100*time.Millisecond), 5},
		{"dropped", r.dropped(0, 20*second), 0.5},
		{"settled", r.settled(5*second, 20*second).Seconds(), 0.3},
		{"settled at once", r.settled(7*second, 20*second).Seconds(), 0},
	} {
		if !near1(c.got, c.want) {
			t.Errorf("%s: %v, want %v", c.what, c.got, c.want)
		}
	}
}

func TestNeverSettled(t *testing.T) {
	r := recordOf(20*second, 1, func(t time.Duration, _ int) int64 {
		if t%second < 100*time.Millisecond {
			return 20
		}
		return 10
	})
	if got := r.settled(0, 20*second); got != never {
		t.Errorf("settled after %v", got)
	}
}

func TestExcessIsPaidBack(t *testing.T) {
	r := recordOf(3*second, 1, func(t time.Duration, _ int) int64 {
		switch {
		case t < second:
			return 20
		case t < 2*second:
			return 0
		}
		return 15
	})
	if got := r.excess(0, 3*second); !near1(got, 1) {
		t.Errorf("peak %v, want 1", got)
	}
	if got := r.mean(0, 3*second); !near1(got, 3.5/3) {
		t.Errorf("mean %v", got)
	}
}

func TestJain(t *testing.T) {
	fair := recordOf(second, 4, func(_ time.Duration, pop int) int64 { return int64(1 + pop) })
	if got := fair.jain(0, second); !near1(got, 1) {
		t.Errorf("equal shares: %v", got)
	}
	one := newRecord(1000, 4)
	one.add([]tally{{offered: 10, admitted: 10}, {offered: 10}, {offered: 10}, {offered: 10}})
	if got := one.jain(0, second); !near1(got, 0.25) {
		t.Errorf("one of four gets all: %v, want 1/4", got)
	}
	quiet := newRecord(1000, 3)
	quiet.add([]tally{{offered: 10, admitted: 5}, {offered: 100, admitted: 50}, {}})
	if got := quiet.jain(0, second); !near1(got, 1) {
		t.Errorf("a PoP without demand counts: %v", got)
	}
}

func TestRecordBeyondItsEnd(t *testing.T) {
	r := recordOf(second, 1, func(time.Duration, int) int64 { return 10 })
	if got := r.between(second, 9*second); got != (tally{}) {
		t.Errorf("after the end: %+v", got)
	}
}
