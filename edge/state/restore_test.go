package state

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/gate/snapshot"
	"github.com/headgate-dev/headgate/edge/state/codec"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/override"
	"github.com/headgate-dev/headgate/window"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

// roundTrip returns the state of g at now, as another process reads it.
func roundTrip(t testing.TB, g *gate.Gate, now window.Instant, stopped bool) *gate.Snapshot {
	t.Helper()
	all, left := codec.Encode(nil, g.Snapshot(now, stopped))
	s, err := codec.Decode(all)
	if err != nil || left != 0 {
		t.Fatalf("%v, %d left out", err, left)
	}
	return s
}

// restart returns a gate with the rules of g that restores s at now.
func restart(t testing.TB, g *gate.Gate, s *gate.Snapshot, now window.Instant) *gate.Gate {
	t.Helper()
	next := gatetest.New(t, 1<<20, g.Rules()...)
	if _, err := next.Restore(now, s, unseen); err != nil {
		t.Fatal(err)
	}
	return next
}

// TestRestartGain: a client that asks ten times its limit gains next to nothing by a node that dies
// at any moment after the state was written last, and loses little more than the time the node was
// away.
func TestRestartGain(t *testing.T) {
	t.Parallel()
	edgetest.Alone(t)
	for _, r := range []mitigation.Rule{
		{Name: "r", Limit: 100, Window: time.Second},
		{Name: "r", Limit: 100, Window: 10 * time.Second},
		{Name: "r", Limit: 5, Window: time.Minute},
		{Name: "r", Limit: 5000, Window: 10 * time.Second},
		{Name: "r", Limit: 100_000, Window: time.Minute},
	} {
		for _, stale := range []time.Duration{0, 200 * time.Millisecond, 990 * time.Millisecond} {
			for _, before := range []time.Duration{
				r.Window * 5 / 4,
				2*r.Window - 300*time.Millisecond, 2*r.Window + r.Window/20,
			} {
				worst, after := restartUnderAttack(t, r, before, stale)
				limit := float64(r.Limit)
				t.Logf("limit %d per %v, attacked for %v, state %v old: worst window %+.2f %%, "+
					"the window after %.1f %% of the limit",
					r.Limit, r.Window, before, stale, float64(worst)/limit*100-100,
					float64(after)/limit*100)
				if float64(worst) > 1.05*limit {
					t.Errorf("limit %d per %v, state %v old: %d admitted in a window", r.Limit,
						r.Window, stale, worst)
				}
				if least := 0.9 - 5*1.25*float64(time.Second)/float64(r.Window); float64(
					after) < least*limit-1 {
					t.Errorf("limit %d per %v, state %v old: only %d in the window after", r.Limit,
						r.Window, stale, after)
				}
			}
		}
	}
}

// restartUnderAttack attacks a node for some time, has it die five times in a row when its state is
// stale, and attacks its successor for a window. It returns the most cost admitted in any window,
// and the cost admitted in the last.
func restartUnderAttack(
	t testing.TB, r mitigation.Rule, before, stale time.Duration,
) (worst, after int64) {
	g := gatetest.New(t, 1<<20, r)
	log := window.NewLog(r.Window, time.Microsecond)
	step := max(r.Window/time.Duration(10*r.Limit), r.Window/4000)
	step += step / 27 // seldom just when room is made
	cost := max(1, 10*r.Limit*int64(step)/int64(r.Window))
	now := g.Now()
	next := now
	attack := func(lasts time.Duration) (admitted int64) {
		for now = now.Add(lasts); next < now; next = next.Add(step) {
			if a := gatetest.Decide(g, next, gate.Check, "r", "attacker", uint32(cost)); !a.Deny {
				log.Admit(next, cost)
				admitted += cost
				worst = max(worst, log.Admitted(next))
			}
		}
		return admitted
	}
	attack(before)
	for range 5 {
		s := roundTrip(t, g, now, stale == 0) // as one is written when a node starts
		attack(stale)                         // after the snapshot
		now = now.Add(100 * time.Millisecond)
		next = max(next, now)
		g = restart(t, g, s, now)
	}
	after = attack(r.Window)
	return worst, after
}

// TestRestartKeeps checks which flags, counts and overrides come back.
func TestRestartKeeps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := fourRules(t, &gate.Global{
			Publish: func([]byte) {},
			Peers:   func() bool { return true },
		})
		afar := strings.Repeat("p", override.MaxNode) + "/" + strings.Repeat("n", override.MaxNode)
		shedAfar(t, g, "afar", afar)
		gatetest.Refuse(g, "block", "blocked")
		gatetest.Refuse(g, "shed", "shed")
		gatetest.Refuse(g, "shadow", "shadowed")
		gatetest.Decide(g, g.Now(), gate.Check, "shed", "near", 2)
		gatetest.Decide(g, g.Now(), gate.Check, "shed", "far", 1)
		block(t, g, "shed", "by hand")
		block(t, g, "shed", "taken back")
		block(t, g, "shed", "lifted")
		if _, ok := g.Lift(g.Now(), "shed", []byte("lifted"), "x"); !ok {
			t.Fatal("not lifted")
		}
		time.Sleep(2 * time.Second)
		s := roundTrip(t, g, g.Now(), true)
		if len(s.Overrides) != 3 || len(s.Counts) != 4 || len(s.Flags) != 4 {
			t.Errorf("%d words, %d counts, %d flags", len(s.Overrides), len(s.Counts), len(s.Flags))
		}
		lengthen(s, "afar", time.Hour)
		time.Sleep(time.Second)
		checkKept(t, restart(t, g, s, g.Now()), afar)
	})
}

// checkKept checks next, restarted a second after the snapshot of TestRestartKeeps.
func checkKept(t *testing.T, next *gate.Gate, afar string) {
	t.Helper()
	sources := map[mitigation.Source]string{
		mitigation.Self: "self", mitigation.Gossip: "gossip",
		mitigation.Manual: "manual",
	}
	now := next.Now()
	got := map[string]string{}
	for _, f := range flags(next) {
		got[string(f.Key)] = fmt.Sprint(f.Action, " ", sources[f.Source], ":", f.Origin, " ",
			f.Until.Sub(now), " ", now.Sub(f.Since))
	}
	want := map[string]string{
		"blocked": "block self: 57s 3s", "shed": "shed self: 7s 3s", "shadowed": "shed self: 7s 3s",
		"afar":    "shed gossip:" + afar + " 10s 3s",
		"by hand": "block manual: 59m57s 3s", "taken back": "block manual: 59m57s 3s",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for key, left := range map[string]uint32{"near": 0, "far": 2} {
		if a := gatetest.Decide(next, now, gate.Check, "shed", key, 1); a.Deny ||
			a.Remaining != int64(left) {
			t.Errorf("%s: %+v", key, a)
		}
	}
	if a := gatetest.Decide(next, now, gate.Check, "shed", "lifted", 1); a.Deny {
		t.Errorf("a lift was forgotten: %+v", a)
	}
	if !lifted(t, next, "shed", "lifted") {
		t.Error("the override of a lift is lost")
	}
}

// shedAfar has g, which has not decided yet, shed half of the cost that key asks of rule shed, by
// another node's flag.
func shedAfar(t *testing.T, g *gate.Gate, key, origin string) {
	t.Helper()
	now := g.Wall(g.Now()).UnixMicro()
	s := &gate.Snapshot{
		Written: now, Stopped: true,
		Rules: []snapshot.Rule{{Name: "shed", Window: gatetest.Shed.Window}},
		Flags: []snapshot.Flag{{
			Key: []byte(key), Ratio: 1 << 31, Source: mitigation.Gossip, Origin: origin,
			Since: now, Until: now + time.Hour.Microseconds(),
		}},
	}
	if is, err := g.Restore(g.Now(), s, 0); err != nil || is.Flags != 1 {
		t.Fatalf("%+v, %v", is, err)
	}
}

// lengthen has the flag of key in s last for d after the snapshot.
func lengthen(s *gate.Snapshot, key string, d time.Duration) {
	for n := range s.Flags {
		if f := &s.Flags[n]; string(f.Key) == key {
			f.Until = s.Written + d.Microseconds()
		}
	}
}

// TestRestartUnderOtherRules: flags and counts of a rule hold for the rule as it is now, no longer
// and no harder.
func TestRestartUnderOtherRules(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := fourRules(t, nil)
		for _, rule := range []string{"shed", "block", "shadow"} {
			gatetest.Refuse(g, rule, "k")
		}
		s := roundTrip(t, g, g.Now(), true)
		short, other, enforced, off := gatetest.Block, gatetest.Shed, gatetest.Shadow,
			gatetest.Block
		short.BlockFor, other.Window, enforced.Mode, off.Mode = 5*time.Second, 20*time.Second,
			mitigation.Enforce, mitigation.Off
		cases := map[string]struct {
			rule mitigation.Rule
			why  mitigation.Why
			left time.Duration
		}{
			"as it was":       {gatetest.Block, mitigation.ByBlock, time.Minute},
			"blocks for less": {short, mitigation.ByBlock, 5 * time.Second},
			"another window":  {other, mitigation.Unrefused, 10 * time.Second},
			"enforced now":    {enforced, mitigation.Unrefused, 0},
			"off now":         {off, mitigation.Unrefused, 0},
			"sheds what it blocked": {mitigation.Rule{
				Name: "block", Limit: 3,
				Window: 10 * time.Second,
			}, mitigation.ByLimit, 0},
			"blocks what it shed": {
				mitigation.Rule{
					Name: "shed", Limit: 3,
					Window: 10 * time.Second, Action: mitigation.Block, BlockFor: time.Minute,
				},
				mitigation.ByLimit, 0,
			},
			"another limit": {mitigation.Rule{
				Name: "shed", Limit: 5,
				Window: 10 * time.Second,
			}, mitigation.Unrefused, 10 * time.Second},
			"a rule that was not yet": {mitigation.Rule{
				Name: "new", Limit: 3,
				Window: 10 * time.Second,
			}, mitigation.Unrefused, 0},
		}
		for name, c := range cases {
			next := gatetest.New(t, 1<<20, c.rule)
			if _, err := next.Restore(next.Now(), s, unseen); err != nil {
				t.Fatal(err)
			}
			left := time.Duration(0)
			for _, f := range flags(next) {
				left = f.Until.Sub(next.Now())
			}
			if a := gatetest.Decide(next, next.Now(), gate.Peek, c.rule.Name, "k",
				1); a.Why != c.why || left != c.left {
				t.Errorf("%s: %+v, flagged for %v", name, a, left)
			}
		}
		// the clock went back: nobody knows how old the state is
		s.Written += 3 * time.Minute.Microseconds()
		next := gatetest.New(t, 1<<20, gatetest.Block)
		if is, err := next.Restore(next.Now(), s, unseen); err == nil || is != (gate.Restored{}) ||
			len(flags(next)) != 0 {
			t.Errorf("from the future: %+v, %v", is, err)
		}
	})
}
