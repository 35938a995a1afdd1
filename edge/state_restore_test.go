package edge

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// roundTrip returns the state of e at now, as another process reads it.
func roundTrip(t testing.TB, e *Edge, now window.Instant, stopped bool) *state {
	t.Helper()
	all, left := encodeState(nil, e.takeState(now, stopped))
	s, err := decodeState(all)
	if err != nil || left != 0 {
		t.Fatalf("%v, %d left out", err, left)
	}
	return s
}

// restart returns a node that is like e but for what it restores of s at now.
func restart(t testing.TB, e *Edge, s *state, now window.Instant) *Edge {
	t.Helper()
	var rules []mitigation.Rule
	for _, r := range e.rules.Load().list {
		rules = append(rules, r.Rule)
	}
	next := newTestEdge(t, 1<<20, rules...)
	if _, err := next.restoreState(now, s); err != nil {
		t.Fatal(err)
	}
	return next
}

// TestRestartGain: who asks ten times what its limit admits gains next to nothing by a node that dies at any moment
// after the state was written last, and loses little more than the time the node was away.
func TestRestartGain(t *testing.T) {
	t.Parallel()
	for _, r := range []mitigation.Rule{
		{Name: "r", Limit: 100, Window: time.Second},
		{Name: "r", Limit: 100, Window: 10 * time.Second},
		{Name: "r", Limit: 5, Window: time.Minute},
		{Name: "r", Limit: 5000, Window: 10 * time.Second},
		{Name: "r", Limit: 100_000, Window: time.Minute},
	} {
		for _, stale := range []time.Duration{0, 200 * time.Millisecond, 990 * time.Millisecond} {
			for _, before := range []time.Duration{r.Window * 5 / 4, 2*r.Window - 300*time.Millisecond, 2*r.Window + r.Window/20} {
				worst, after := restartUnderAttack(t, r, before, stale)
				limit := float64(r.Limit)
				t.Logf("limit %d per %v, attacked for %v, state %v old: worst window %+.2f %%, the window after %.1f %% of the limit",
					r.Limit, r.Window, before, stale, float64(worst)/limit*100-100, float64(after)/limit*100)
				if float64(worst) > 1.05*limit {
					t.Errorf("limit %d per %v, state %v old: %d admitted in a window", r.Limit, r.Window, stale, worst)
				}
				if least := 0.9 - 5*1.25*float64(time.Second)/float64(r.Window); float64(after) < least*limit-1 {
					t.Errorf("limit %d per %v, state %v old: only %d in the window after", r.Limit, r.Window, stale, after)
				}
			}
		}
	}
}

// restartUnderAttack attacks a node for some time, has it die five times in a row when its state is stale, and attacks
// what comes after it for a window. It returns the most that was admitted in any window, and what was in the last.
func restartUnderAttack(t testing.TB, r mitigation.Rule, before, stale time.Duration) (worst, after int64) {
	e := newTestEdge(t, 1<<20, r)
	log := window.NewLog(r.Window, time.Microsecond)
	step := max(r.Window/time.Duration(10*r.Limit), r.Window/4000)
	step += step / 27 // seldom just when room is made
	cost := max(1, 10*r.Limit*int64(step)/int64(r.Window))
	now := e.Now()
	next := now
	attack := func(lasts time.Duration) (admitted int64) {
		for now = now.Add(lasts); next < now; next = next.Add(step) {
			if a := e.askAt(next, wire.Check, "r", "attacker", uint32(cost)); a.Status == wire.Allow {
				log.Admit(next, cost)
				admitted += cost
				worst = max(worst, log.Admitted(next))
			}
		}
		return admitted
	}
	attack(before)
	for range 5 {
		s := roundTrip(t, e, now, stale == 0) // as one is written when a node starts
		attack(stale)                         // what nobody writes down
		now = now.Add(100 * time.Millisecond)
		next = max(next, now)
		e = restart(t, e, s, now)
	}
	after = attack(r.Window)
	return worst, after
}

// TestRestartKeeps checks what comes back and what does not.
func TestRestartKeeps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newTestAdmin(t, AdminOptions{Local: true})
		e := a.edge
		a.refuse("block", "blocked")
		a.refuse("shed", "shed")
		a.refuse("shadow", "shadowed")
		e.askAt(e.Now(), wire.Check, "shed", "near", 2)
		e.askAt(e.Now(), wire.Check, "shed", "far", 1)
		a.put(t, "shed", "by hand")
		a.put(t, "shed", "taken back")
		a.put(t, "shed", "lifted")
		e.OnWord(func([]byte) {}, func() bool { return true })
		if _, ok := e.liftByHand(e.Now(), "shed", []byte("lifted"), "x"); !ok {
			t.Fatal("not lifted")
		}
		afar := strings.Repeat("p", mitigation.MaxNode) + "/" + strings.Repeat("n", mitigation.MaxNode)
		e.flagAfar("afar", afar)
		time.Sleep(2 * time.Second)
		s := roundTrip(t, e, e.Now(), true)
		if len(s.words) != 3 || len(s.counts) != 4 || len(s.flags) != 4 {
			t.Errorf("%d words, %d counts, %d flags", len(s.words), len(s.counts), len(s.flags))
		}
		time.Sleep(time.Second)
		next := restart(t, e, s, e.Now())
		got := map[string]string{}
		for _, f := range next.flags.Live(e.Now()) {
			got[string(f.Key)] = fmt.Sprint(f.Action, " ", sourceOf(&f), " ", f.Until.Sub(e.Now()), " ", e.Now().Sub(f.Since))
		}
		want := map[string]string{
			"blocked": "block self 57s 3s", "shed": "shed self 7s 3s", "shadowed": "shed self 7s 3s",
			"afar":    "shed gossip:" + afar + " 10s 3s",
			"by hand": "block manual: 59m57s 3s", "taken back": "block manual: 59m57s 3s",
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		for key, left := range map[string]uint32{"near": 0, "far": 2} {
			if a := next.askAt(next.Now(), wire.Check, "shed", key, 1); a.Status != wire.Allow || a.Remaining != int64(left) {
				t.Errorf("%s: %+v", key, a)
			}
		}
		if a := next.askAt(next.Now(), wire.Check, "shed", "lifted", 1); a.Status != wire.Allow {
			t.Errorf("a lift was forgotten: %+v", a)
		}
		if w, ok := next.words.Last(next.Now().Time().UnixMilli(), "shed", []byte("lifted")); !ok || w.Says != mitigation.SaysLift {
			t.Errorf("the word of a lift is lost: %+v", w)
		}
	})
}

// flagAfar sheds half of what key asks rule shed for, for an hour on origin's word.
func (e *Edge) flagAfar(key, origin string) {
	now := e.Now()
	e.flags.Put(now, mitigation.Flag{
		Index: e.rules.Load().byName["shed"].meter.Index([]byte(key)), Rule: "shed", Key: []byte(key), Ratio: 1 << 31,
		Source: mitigation.Gossip, Origin: origin, Since: now, Until: now.Add(time.Hour),
	})
}

// TestRestartUnderOtherRules: what was kept under a rule holds for what the rule is now, no longer and no harder.
func TestRestartUnderOtherRules(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newTestAdmin(t, AdminOptions{Local: true})
		for _, rule := range []string{"shed", "block", "shadow"} {
			a.refuse(rule, "k")
		}
		s := roundTrip(t, a.edge, a.edge.Now(), true)
		short, other, enforced, off := blockRule, shedRule, shadowRule, blockRule
		short.BlockFor, other.Window, enforced.Mode, off.Mode = 5*time.Second, 20*time.Second, mitigation.Enforce, mitigation.Off
		cases := map[string]struct {
			rule mitigation.Rule
			why  wire.Why
			left time.Duration
		}{
			"as it was":               {blockRule, wire.WhyBlock, time.Minute},
			"blocks for less":         {short, wire.WhyBlock, 5 * time.Second},
			"another window":          {other, wire.NoWhy, 10 * time.Second},
			"enforced now":            {enforced, wire.NoWhy, 0},
			"off now":                 {off, wire.NoWhy, 0},
			"sheds what it blocked":   {mitigation.Rule{Name: "block", Limit: 3, Window: 10 * time.Second}, wire.WhyLimit, 0},
			"blocks what it shed":     {mitigation.Rule{Name: "shed", Limit: 3, Window: 10 * time.Second, Action: mitigation.Block, BlockFor: time.Minute}, wire.WhyLimit, 0},
			"another limit":           {mitigation.Rule{Name: "shed", Limit: 5, Window: 10 * time.Second}, wire.NoWhy, 10 * time.Second},
			"a rule that was not yet": {mitigation.Rule{Name: "new", Limit: 3, Window: 10 * time.Second}, wire.NoWhy, 0},
		}
		for name, c := range cases {
			next := newTestEdge(t, 1<<20, c.rule)
			if _, err := next.restoreState(next.Now(), s); err != nil {
				t.Fatal(err)
			}
			left := time.Duration(0)
			for _, f := range next.flags.Live(next.Now()) {
				left = f.Until.Sub(next.Now())
			}
			if a := next.askAt(next.Now(), wire.Peek, c.rule.Name, "k", 1); a.Why != c.why || left != c.left {
				t.Errorf("%s: %+v, flagged for %v", name, a, left)
			}
		}
		// the clock went back: nobody knows how old the state is
		s.written += 3 * time.Minute.Microseconds()
		next := newTestEdge(t, 1<<20, blockRule)
		if is, err := next.restoreState(next.Now(), s); err == nil || is != (restored{}) || len(next.flags.Live(next.Now())) != 0 {
			t.Errorf("from the future: %+v, %v", is, err)
		}
	})
}
