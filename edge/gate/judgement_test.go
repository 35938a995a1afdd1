package gate

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// FuzzOneJudgement: the straight paths of plain rules decide as that of several questions does,
// whatever the rule, the flags and the questions: equal decisions and figures.
func FuzzOneJudgement(f *testing.F) {
	f.Add([]byte{5, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8})
	f.Add([]byte{1, 1, 1, 0x10, 0x21, 0x32, 0x43, 0xf0, 0x10, 0x10, 0x10, 0x85, 0x85})
	f.Add([]byte("A100^0"))            // above the limit, and allowed by a flag
	f.Add([]byte("%700111\xd5 \x1c0")) // a bucket that a count brings to its limit
	f.Add([]byte("404!!!!!"))          // key b above its own number
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) < 3 {
			return
		}
		rule := ruleOf(input[0], input[1], input[2])
		start := time.Unix(1_800_000_000, 0)
		straight := New(Options{Memory: 1 << 20, Rules: []mitigation.Rule{rule}, Start: start})
		all := New(Options{Memory: 1 << 20, Rules: []mitigation.Rule{rule}, Start: start})
		now := window.Instant(time.Hour)
		for n, step := range input[3:] {
			now = now.Add(time.Duration(step>>5) * 100 * time.Millisecond)
			key := []byte{'a' + step&1}
			if step&0x1e == 0x1e {
				flagBoth(now, int(step>>5), key, straight, all)
				continue
			}
			ask := Ask{
				Op:   Op(step >> 1 & 3 % uint8(Acquire)),
				Rule: []byte(rule.Name),
				Key:  key,
				Cost: 1 + uint32(step>>3&3),
			}
			u := uint64(n) * 0x9e3779b97f4a7c15
			got, want := decideStraight(straight, now, u, ask), decideAsOne(all, now, u, ask)
			got.Rule, want.Rule = nil, nil
			for _, times := range [...][2]*time.Duration{
				{&got.Reset, &want.Reset}, {&got.Retry, &want.Retry},
			} {
				if (*times[0] - *times[1]).Abs() <= time.Microsecond { // buckets count in ticks
					*times[0] = *times[1]
				}
			}
			if got != want {
				t.Fatalf("step %d, %+v under %+v:\n%+v, straight\n%+v, as all others", n, ask, rule,
					got, want)
			}
		}
		a, b := straight.Figures()[0], all.Figures()[0]
		if a.Totals != b.Totals { // estimates of keys differ, as hashes do
			t.Errorf("under %+v:\n%+v, straight\n%+v, as all others", rule, a, b)
		}
	})
}

// ruleOf returns a plain rule, whose numbers and words are those bytes'.
func ruleOf(limit, kind, failure byte) mitigation.Rule {
	r := mitigation.Rule{
		Name: "r", Limit: int64(limit%32) + 1, Window: time.Second,
		Mode: mitigation.Mode(kind >> 2 % 3), FailureMode: mitigation.FailureMode(failure % 3),
	}
	if kind&1 > 0 {
		r.Action, r.BlockFor = mitigation.Block, 2*time.Second
	}
	if kind&2 > 0 {
		r.Kind, r.Burst = mitigation.Bucket, r.Limit/2+1
	}
	if failure&4 > 0 { // key b has a limit of its own
		r.Numbers = &mitigation.Numbers{
			List: []mitigation.Number{{Limit: 3, Burst: r.Burst}},
			Find: func(key []byte) int { return int(key[0]) - 'b' },
		}
	}
	return r
}

// flagBoth gives the key a flag at both gates. Only people allow, and a ratio leaves nothing to
// chance.
func flagBoth(now window.Instant, kind int, key []byte, gates ...*Gate) {
	action, source := mitigation.Action(kind%3), mitigation.Source(kind/3)
	if action == mitigation.Allow {
		source = mitigation.Manual
	}
	for _, g := range gates {
		r := g.rules.Load().list[0]
		g.flags.Put(now, mitigation.Flag{
			Index: r.meter.Index(key), Rule: r.Name, Key: key, Action: action, Source: source,
			Ratio: mitigation.RatioFor(2, 0),
			Since: now, Until: now.Add(time.Second),
		})
	}
}

func decideStraight(g *Gate, now window.Instant, u uint64, a Ask) Decision {
	d, err := g.Lane(0).Decide(now, u, a)
	if err != nil {
		panic(err)
	}
	return d
}

// decideAsOne is decideStraight by the path of requests that ask several questions. The answer of a
// Count has its rule alone.
func decideAsOne(g *Gate, now window.Instant, u uint64, a Ask) (d Decision) {
	l, r, t := g.Lane(0), g.rules.Load().list[0].of(now, a.Key), new(Together)
	t.N, t.Questions[0] = 1, Question{Ask: a, At: -1}
	t.start(r, 0)
	t.decide(l, now, func() uint64 { return u })
	if outcome := t.outcome(0); outcome < Outcomes {
		r.tallies[l.number].Note(outcome, 1, uint64(a.cost()-1))
	}
	if d = t.Decisions[0]; a.Op == Count && r.Mode != mitigation.Off {
		d = Decision{}
	}
	return d
}
