package main

import (
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/oracle"
	"github.com/headgate-dev/headgate/window"
)

// TestTicksAgreeWithTheLog runs the four-byte log beside the one it stands for, across the place
// where its microseconds come round.
func TestTicksAgreeWithTheLog(t *testing.T) {
	for seed := range uint64(20) {
		dice := newDice(seed, 0)
		log := window.NewLog(ruleWindow, window.Tick(ruleWindow))
		var compact ticks
		now := window.Instant((int64(1)<<32 - int64(2*ruleWindow/time.Microsecond)) * 1000)
		for range 3000 {
			now = now.Add(time.Duration(dice.Int64N(int64(ruleWindow / 20))))
			if dice.IntN(100) == 0 {
				now = now.Add(2 * ruleWindow)
			}
			compact.trim(tickOf(now))
			compact.push(tickOf(now))
			log.Offer(now, 1)
			if got, want := int64(compact.size), log.Offered(now); got != want {
				t.Fatalf("seed %d: %d in the window at %d, want %d", seed, got, now, want)
			}
		}
	}
}

// TestTrialJudges sends one source past its limit, by hand.
func TestTrialJudges(t *testing.T) {
	const limit = 20
	n, err := newNode(4*mib, limit, trafficStart)
	if err != nil {
		t.Fatal(err)
	}
	r := &trial{
		node: n, keys: addresses(2), accounts: make([]account, 2),
		score: oracle.NewScore(limit), bits: newDice(1, 2),
	}
	r.decide(event{trafficStart, 1}) // within the warm-up: recorded, not judged
	late := trafficStart.Add(warmUp)
	for i := range 30 {
		r.decide(event{late.Add(time.Duration(i) * time.Millisecond), 0})
	}
	s := r.close()
	if s.Classification.Judged != 30 || s.Classification.Over != 10 || s.Enforcement.Judged != 30 {
		t.Errorf("%+v; want 30 judged, 10 of them over", s.Classification)
	}
	if e := s.Enforcement; e.WrongDeny+e.WrongAllow != 0 {
		t.Errorf("%+v; want nothing wrong: a limit of 20 in an empty node is exact", e)
	}
	if k := s.Keys; k.Seen != 2 || k.Over != 1 || k.FalseNegatives+k.FalsePositives != 0 {
		t.Errorf("%+v; want two sources, one over and refused", k)
	}
}

func TestDemands(t *testing.T) {
	good := func() *accuracy {
		a := &accuracy{Traffic: "calm", Limit: 600, Score: oracle.NewScore(600)}
		a.Score.Classification = oracle.Classification{
			Judged: 10_000_000, WrongOver: 15,
			WrongUnder: 14, RateError: 0.009,
		}
		a.Score.Keys = oracle.Keys{FalseNegatives: 3, WorstMissed: 1.07}
		a.Score.Settled = oracle.Enforcement{
			WrongDeny: 5, WorstDeny: 0.98,
			WrongAllow: 5, WorstAllow: 1.02,
		}
		return a
	}
	if a := good(); !a.passed() {
		t.Errorf("a run at the edge of every demand failed: %+v", a.demands())
	}
	for what, spoil := range map[string]func(*accuracy){
		"classification": func(a *accuracy) { a.Score.Classification.WrongOver++ },
		"rate error":     func(a *accuracy) { a.Score.Classification.RateError = 0.01 },
		"false positive": func(a *accuracy) { a.Score.Keys.FalsePositives = 1 },
		"missed":         func(a *accuracy) { a.Score.Keys.WorstMissed = 1.0701 },
		"low refusal":    func(a *accuracy) { a.Score.Settled.WorstDeny = 0.979 },
		"high admission": func(a *accuracy) { a.Score.Settled.WorstAllow = 1.021 },
		"small limit":    func(a *accuracy) { a.Limit = 256 },
	} {
		a := good()
		spoil(a)
		if a.passed() {
			t.Errorf("%s: a run that misses it passed", what)
		}
	}
}

func TestPrintSaysWhatFailed(t *testing.T) {
	a := &accuracy{Traffic: "edge", Limit: 600, Score: oracle.NewScore(600), Decide: 100}
	a.Score.Keys.FalsePositives = 1
	var out strings.Builder
	a.print(&out)
	if !strings.Contains(out.String(), "FAIL  no false positive") ||
		strings.Count(out.String(), "PASS  ") != 4 {
		t.Errorf("want one FAIL and four PASS in:\n%s", out.String())
	}
}

func TestPaceIsExact(t *testing.T) {
	p, sum := newPace(1000.0, 6000), 0
	for range 6000 {
		sum += p.next()
	}
	if sum < 999 || sum > 1000 {
		t.Errorf("dealt %d of 1000", sum)
	}
}

func TestParse(t *testing.T) {
	o, err := parse([]string{"-mode", "overfull"})
	if err != nil || o.n != 50_000_000 || o.memory != 20*mib {
		t.Errorf("parse: %+v, %v; want the mode's own n and memory", o, err)
	}
	for _, args := range [][]string{
		{"-mode", "x"},
		{"-memory", "1GiB"},
		{"-memory", "0MiB"},
		{"-n", "-1"},
		{"rest"},
	} {
		if _, err := parse(args); err == nil {
			t.Errorf("parse %q took it", args)
		}
	}
	if _, err := runAccuracy(options{traffic: "x"}); err == nil {
		t.Error("-traffic x was taken")
	}
}
