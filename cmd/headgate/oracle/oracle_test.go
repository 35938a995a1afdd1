package oracle_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/headgate-dev/headgate/cmd/headgate/oracle"
	"github.com/headgate-dev/headgate/window"
)

// diff compares scores by their published numbers.
func diff(want, got any) string {
	return cmp.Diff(want, got, cmpopts.IgnoreUnexported(oracle.Classification{}),
		cmpopts.EquateApprox(0, 1e-12))
}

func TestEnforcement(t *testing.T) {
	const limit = 100
	for _, c := range []struct {
		name string
		seen oracle.Seen
		want oracle.Enforcement
	}{
		{"allow up to equality", oracle.Seen{Cost: 5, Admitted: 95}, oracle.Enforcement{Judged: 1}},
		{
			"allow one past equality is wrong by a unit",
			oracle.Seen{Cost: 5, Admitted: 96},
			oracle.Enforcement{Judged: 1, WrongAllow: 1, WorstAllow: 1.01},
		},
		{
			"allow 3 % and a unit past is outside",
			oracle.Seen{Cost: 1, Admitted: 103},
			oracle.Enforcement{Judged: 1, WrongAllow: 1, WorstAllow: 1.04, Outside: 1},
		},
		{
			"refuse past equality",
			oracle.Seen{Cost: 1, Admitted: 100, Refused: true},
			oracle.Enforcement{Judged: 1},
		},
		{
			"refuse what just fits",
			oracle.Seen{Cost: 1, Admitted: 99, Refused: true},
			oracle.Enforcement{Judged: 1, WrongDeny: 1, WorstDeny: 1},
		},
		{
			"refuse at half the limit",
			oracle.Seen{Cost: 10, Admitted: 40, Refused: true},
			oracle.Enforcement{Judged: 1, WrongDeny: 1, WorstDeny: 0.5, Outside: 1},
		},
		{
			"a cost above the limit never fits",
			oracle.Seen{Cost: 101, Refused: true},
			oracle.Enforcement{Judged: 1},
		},
		{
			"a refusal by flag is not judged",
			oracle.Seen{Cost: 1, Refused: true, ByFlag: true},
			oracle.Enforcement{},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			score := oracle.NewScore(limit)
			score.Take(c.seen)
			if d := diff(c.want, score.Enforcement); d != "" {
				t.Errorf("enforcement (-want +got):\n%s", d)
			}
			if d := diff(oracle.Enforcement{}, score.Settled); d != "" {
				t.Errorf("settled, of a key that is not (-want +got):\n%s", d)
			}
			c.seen.Settled = true
			score.Take(c.seen)
			if d := diff(c.want, score.Settled); d != "" {
				t.Errorf("settled (-want +got):\n%s", d)
			}
		})
	}
}

func TestEnforcementKeepsTheWorst(t *testing.T) {
	score := oracle.NewScore(100)
	for _, admitted := range []int64{79, 49, 89} {
		score.Take(oracle.Seen{Cost: 1, Admitted: admitted, Refused: true})
	}
	for _, admitted := range []int64{109, 129, 119} {
		score.Take(oracle.Seen{Cost: 1, Admitted: admitted})
	}
	if e := score.Enforcement; e.WorstDeny != 0.5 || e.WorstAllow != 1.3 {
		t.Errorf("worst deny %v, worst allow %v; want 0.5 and 1.3", e.WorstDeny, e.WorstAllow)
	}
}

func TestClassification(t *testing.T) {
	score := oracle.NewScore(100)
	for _, s := range []oracle.Seen{
		{Offered: 100, Estimate: 100}, // at the limit is not over: right
		{Offered: 100, Estimate: 101}, // wrong over, 1 % off
		{Offered: 101, Estimate: 100}, // wrong under
		{Offered: 200, Estimate: 150}, // right, 25 % off
		{Offered: 10, Estimate: 90},   // a tenth of the limit is not above it: not rated
	} {
		score.Take(s)
	}
	want := oracle.Classification{
		Judged: 5, Over: 2, WrongOver: 1, WrongUnder: 1, Rated: 4,
		RateError: (0 + 0.01 + 1.0/101 + 0.25) / 4,
	}
	if d := diff(want, score.Classification); d != "" {
		t.Errorf("classification (-want +got):\n%s", d)
	}
}

func TestKeys(t *testing.T) {
	score := oracle.NewScore(100)
	score.TakeKey(100, false) // at the limit: neither over nor wronged
	score.TakeKey(100, true)  // refused though never over
	score.TakeKey(101, true)  // over and refused
	score.TakeKey(103, false) // over, never refused
	score.TakeKey(107, false) // the worse of two
	want := oracle.Keys{Seen: 5, Over: 3, FalsePositives: 1, FalseNegatives: 2, WorstMissed: 1.07}
	if d := diff(want, score.Keys); d != "" {
		t.Errorf("keys (-want +got):\n%s", d)
	}
}

// TestBook walks one key through a limit of 2 a second, by hand.
func TestBook(t *testing.T) {
	book := oracle.NewBook(2, time.Second)
	at := func(ms int64) window.Instant { return window.Instant(ms * int64(time.Millisecond)) }
	for _, d := range []oracle.Decided{
		{At: at(0), Estimate: 1},                                // admitted 1
		{At: at(100), Estimate: 2},                              // admitted 2
		{At: at(200), Estimate: 3, Refused: true},               // right: 3 > 2
		{At: at(300), Estimate: 4, Settled: true},               // wrong allow, 3 of 2
		{At: at(999), Estimate: 5, Refused: true, ByFlag: true}, // not judged
		// right: the admission at 0 is out, 100 and 300 are in
		{At: at(1000), Estimate: 4, Refused: true},
		// wrong deny: 300 is out by now; and 3 were offered
		{At: at(1300), Estimate: 1, Refused: true, Settled: true},
		{At: at(5000), Key: []byte("other"), Estimate: 1, Cost: 100}, // wrong allow, 100 of 2
	} {
		if d.Key == nil {
			d.Key = []byte("key")
		}
		d.Cost = max(d.Cost, 1)
		book.Take(d)
	}
	got := book.Close()
	want := oracle.Enforcement{
		Judged: 7, WrongDeny: 1, WrongAllow: 2, WorstDeny: 0.5,
		WorstAllow: 50, Outside: 1,
	}
	if d := diff(want, got.Enforcement); d != "" {
		t.Errorf("enforcement (-want +got):\n%s", d)
	}
	settled := oracle.Enforcement{
		Judged: 2, WrongDeny: 1, WrongAllow: 1, WorstDeny: 0.5,
		WorstAllow: 1.5,
	}
	if d := diff(settled, got.Settled); d != "" {
		t.Errorf("settled (-want +got):\n%s", d)
	}
	if c := got.Classification; c.Over != 6 || c.WrongUnder != 2 || c.WrongOver != 0 ||
		got.ByFlag != 1 {
		t.Errorf("classification %+v, %d by flag; want 6 over, 2 wrong under, 1 by flag", c,
			got.ByFlag)
	}
	if k := got.Keys; k.Seen != 2 || k.Over != 2 || k.FalsePositives != 0 ||
		k.FalseNegatives != 1 || k.WorstMissed != 50 {
		t.Errorf("keys %+v; want 2 seen, both over, one never refused at 50 times", k)
	}
}

// A limiter that is the definition makes no error of any kind.
func TestBookFindsNoFaultInTheDefinition(t *testing.T) {
	const limit = 3
	book := oracle.NewBook(limit, time.Second)
	logs := map[byte]*window.Log{}
	for i := range 10_000 {
		now := window.Instant(i * int(37*time.Millisecond))
		key := byte(i * i % 7)
		if logs[key] == nil {
			logs[key] = window.NewLog(time.Second, time.Microsecond)
		}
		log, cost := logs[key], int64(1+i%2)
		log.Offer(now, cost)
		refused := log.Admitted(now)+cost > limit
		if !refused {
			log.Admit(now, cost)
		}
		book.Take(oracle.Decided{
			At: now, Key: []byte{key}, Cost: cost, Estimate: log.Offered(now), Refused: refused,
			Settled: true,
		})
	}
	s := book.Close()
	if s.Enforcement.WrongDeny+s.Enforcement.WrongAllow+s.Classification.WrongOver+
		s.Classification.WrongUnder != 0 {
		t.Errorf("the definition was found wrong: %+v", s)
	}
	if s.Keys.FalsePositives+s.Keys.FalseNegatives != 0 || s.Keys.Over == 0 ||
		math.Abs(s.Classification.RateError) > 0 {
		t.Errorf("the definition was found wrong about keys: %+v", s.Keys)
	}
}
