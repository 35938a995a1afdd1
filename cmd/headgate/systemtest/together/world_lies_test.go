//go:build soak && !race

package together

import (
	"fmt"
	"testing"
	"time"
)

// TestWorldSoakLiar has a member with the cluster's key say of clients that keep to 0.8 of their
// limit that they are to be refused, in every way it can, while another key is attacked, which is
// to be shed as before.
func TestWorldSoakLiar(t *testing.T) {
	const phase = 8 * time.Second
	l := startPoPs(t, worldPlan{rules: worldSoakRules})
	v := l.joinLiar("liar", "far")
	owned := l.keyOf("owned", v, func(owner, _ string) bool { return owner == v.name })
	stood := l.keyOf("stood", v, func(_, standby string) bool { return standby == v.name })
	other := l.keyOf("other", v, func(owner, standby string) bool {
		return owner != v.name &&
			standby != v.name
	})
	flood := l.keyOf("flood", v, func(owner, standby string) bool {
		return owner != v.name &&
			standby != v.name
	})
	before := weigh(t, l.nodes)
	v.answers.Store(true)
	for _, lie := range []struct {
		what string
		gap  time.Duration
		tell func(n int)
	}{
		{"says nothing", time.Second, func(int) {}},
		{"views and advice that nobody asked for", 10 * time.Millisecond, func(n int) {
			v.all(func() []byte {
				return v.own(viewOf(liarView, other, uint32(n), 0, "lhr"),
					viewOf(liarAdvice, other, uint32(n), 0, "lhr"))
			})
		}},
		{"advice in the name of a node of the PoP", 10 * time.Millisecond, func(n int) {
			v.all(func() []byte {
				return v.packet(l.nodes[n%6].ID, v.began, time.Now(),
					viewOf(liarAdvice, other, uint32(n), 0, "lhr"))
			})
		}},
		{"a hundred thousand notices a second, if it could", 10 * time.Millisecond, func(n int) {
			for k := range 1000 {
				key := fmt.Sprintf("nobody-%d-%d", n, k)
				v.Spread(key, noticeOf(key, v.name, time.Now().Add(30*time.Second), uint64(n)))
			}
			for _, key := range []string{owned, stood, other} {
				v.Spread(key, noticeOf(key, v.name, time.Now().Add(30*time.Second),
					uint64(time.Now().UnixMilli())))
			}
		}},
		{"dates in the future and long past", 10 * time.Millisecond, func(n int) {
			at := time.Now().Add([]time.Duration{time.Hour, -time.Hour, 1000 * time.Hour}[n%3])
			v.all(func() []byte {
				return v.packet(v.name, v.began, at,
					demandOf("thousand", other, hugeRate))
			})
			v.Spread(other, noticeOf(other, v.name, at, uint64(at.UnixMilli())))
		}},
		{"what others sent it, again", time.Second, func(int) { v.replay() }},
	} {
		quiet := []*flow{{name: owned}, {name: stood}, {name: other}}
		for _, f := range quiet {
			f.rule, f.rate = "thousand", spread(0.8*worldLimit, 0.34, 0.33, 0.33)
		}
		attack := &flow{name: flood, rule: "thousand", rate: spread(5*worldLimit, 0.80, 0.15, 0.05)}
		load := l.load(append(quiet, attack)...)
		every(t, lie.gap, phase, lie.tell)
		load.stop()
		_, _, mean := logShares(t, lie.what+": the attack",
			attack.shares(2*worldBins, load.bin(), worldLimit))
		for _, f := range quiet {
			if got := f.total(); got.Refused > 0 {
				t.Errorf("%s: %s, at 0.8 of its limit: %v; %v", lie.what, f.name, got, f.why)
			}
		}
		if mean < 0.95 || mean > 1.05 {
			t.Errorf("%s: the attack is admitted %.3f of the limit", lie.what, mean)
		}
	}
	v.mu.Lock()
	t.Logf("asked %v; lied to %d questions; kept %d packets", v.asked, v.lied, len(v.kept))
	v.mu.Unlock()
	compareWeights(t, before, weigh(t, l.nodes))
	for _, n := range l.nodes[:2] {
		t.Logf("%s: %v", n.ID, n.Metrics("headgate_gossip_"))
	}
}

// TestWorldSoakLiarSteps measures the harm that a member with the key can do where no second
// witness contradicts it. No harm may outlast the liar by long.
func TestWorldSoakLiarSteps(t *testing.T) {
	const phase, victims = 6 * time.Second, 8
	for _, lie := range []struct {
		what, pop string
		rule      string // of the victims
		tell      func(l *worldLab, v *forger, victim string)
		answers   bool
	}{
		{
			what: "a PoP that says it is asked a million million times a second", pop: "far",
			rule: "thousand", tell: func(_ *worldLab, v *forger, victim string) {
				v.all(func() []byte { return v.own(demandOf("thousand", victim, hugeRate)) })
			},
		},
		{
			what: "the same of a limit judged by rates", pop: "far", rule: "large",
			tell: func(_ *worldLab, v *forger, victim string) {
				v.all(func() []byte { return v.own(demandOf("large", victim, hugeRate)) })
			},
		},
		{what: "reports for a PoP of others", pop: "lhr", rule: "thousand", answers: true},
		{
			what: "newer packets in the name of the attacked PoP's nodes, from next year",
			pop:  "far",
			rule: "thousand", tell: func(l *worldLab, v *forger, _ string) {
				for _, n := range l.nodes {
					v.all(func() []byte {
						return v.packet(n.ID,
							time.Now().AddDate(1, 0, 0), time.Now())
					})
				}
			},
		},
	} {
		t.Run(lie.what, func(t *testing.T) {
			l := startPoPs(t, worldPlan{rules: worldSoakRules})
			v := l.joinLiar("liar", lie.pop)
			v.answers.Store(lie.answers)
			quiet := &flow{
				name: "victims", keys: victims, rule: lie.rule,
				rate: spread(victims*0.8*worldLimit, 0.34, 0.33, 0.33),
			}
			attack := &flow{
				name: "flood", rule: "thousand",
				rate: spread(5*worldLimit, 0.80, 0.15, 0.05),
			}
			load := l.load(quiet, attack)
			every(t, 20*time.Millisecond, phase, func(n int) {
				if lie.tell != nil && n > 100 {
					lie.tell(l, v, quiet.key(n))
				}
			})
			lies := load.bin()
			v.answers.Store(false)
			load.until(phase + 10*time.Second)
			load.stop()
			logShares(t, "the attack", attack.shares(2*worldBins, lies, worldLimit))
			if _, _, mean := logShares(t, "the attack after the lies",
				attack.shares(lies, load.bin(), worldLimit)); mean > 1.05 {
				t.Errorf("after the lies the attack is admitted %.3f of the limit, want at most "+
					"1.05", mean)
			}
			t.Logf("of %d clients at 800/s, while it lies: %v; after it: %v; %v", victims,
				quiet.world(0, lies), quiet.world(lies, load.bin()), quiet.why)
			if got := quiet.world(0, lies); got.Refused > 0 {
				t.Errorf("%d of %d refused under the limit", got.Refused, got.Asked)
			}
		})
	}
}
