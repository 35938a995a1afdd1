package explain_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/explain"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// stated returns the view of key k, and its sentences as one text.
func stated(t *testing.T, g *gate.Gate, now window.Instant, rule string) (api.ExplainView, string) {
	t.Helper()
	v, ok := explain.Key(explain.Sources{Gate: g}, now, 0,
		explain.About{Rule: rule, Key: []byte("k")})
	if !ok {
		t.Fatalf("rule %s is not in force", rule)
	}
	return v, strings.Join(v.Sentences, " ")
}

// lacks returns the first of parts that is not in text; empty: all are.
func lacks(text string, parts ...string) string {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return part
		}
	}
	return ""
}

// TestAQueueIsExplained: how many tokens are taken in advance, and how long the next request waits.
func TestAQueueIsExplained(t *testing.T) {
	g := gatetest.New(t, 1<<20, mitigation.Rule{
		Name: "q", Limit: 10, Window: time.Second,
		Kind: mitigation.Bucket, Burst: 1, Delay: 250 * time.Millisecond,
	})
	now := g.Now()
	for n, want := range []struct {
		wait  float64
		debt  int64
		parts []string
	}{
		{0, 0, []string{
			"allowed now.", "room for 1 more",
			"those that can wait up to 250ms pass later",
		}},
		{0.1, 0, []string{"that can wait would be allowed 100ms later; any other would be denied " +
			"now"}},
		{0.2, 1, []string{"allowed 200ms later", "1 token is taken in advance"}},
		{0, 2, []string{
			"would be denied now.", "2 tokens are taken in advance",
			"room again in 1s",
		}},
	} {
		v, text := stated(t, g, now, "q")
		if part := lacks(text, want.parts...); part != "" {
			t.Errorf("after %d: %q lacks %q", n, text, part)
		}
		if b := v.Bucket; b.Wait != want.wait || int64(b.Debt) != want.debt ||
			b.Delay != 0.25 || b.Token != 0.1 {
			t.Errorf("after %d: %+v", n, b)
		}
		a := gatetest.Ask(gate.Check, "q", "k", 1)
		a.Wait = true
		if _, err := g.Lane(0).Decide(now, 0, a); err != nil {
			t.Fatal(err)
		}
	}
}

// TestADebtIsExplained: a cost that is known afterwards takes tokens that the bucket does not have.
func TestADebtIsExplained(t *testing.T) {
	g := gatetest.New(t, 1<<20, mitigation.Rule{
		Name: "b", Limit: 1, Window: time.Second,
		Kind: mitigation.Bucket, Burst: 10,
	})
	now := g.Now()
	gatetest.Decide(g, now, gate.Check, "b", "k", 4)
	gatetest.Decide(g, now, gate.Count, "b", "k", 9)
	v, text := stated(t, g, now, "b")
	if v.Bucket.Debt != 3 || v.Bucket.Left != 0 || v.Bucket.Wait != 0 ||
		lacks(text, "3 tokens are taken in advance", "full again in 13s") != "" {
		t.Errorf("%+v: %s", v.Bucket, text)
	}
}

// TestAReserveIsExplained: the room of each tier, and that only the others are denied.
func TestAReserveIsExplained(t *testing.T) {
	rule := mitigation.Rule{
		Name: "r", Limit: 10, Window: 10 * time.Second,
		Reserve: []mitigation.Share{
			{Tier: "critical", Part: mitigation.Whole / 5},
			{Tier: "normal", Part: mitigation.Whole / 10},
		},
	}
	shadow := rule
	shadow.Name, shadow.Mode = "s", mitigation.Shadow
	g := gatetest.New(t, 1<<20, rule, shadow)
	now := g.Now()
	for n, want := range []struct {
		why      string
		lefts    string
		sentence string
	}{
		0: {"", "[10 8 7]", "all others have room for 7 (up to 7)"},
		6: {"", "[4 2 1]", "tier critical have room for 4 (up to 10)"},
		7: {"reserve", "[3 1 0]", "denied now, unless it is of a tier with a reserve"},
	} {
		v, text := stated(t, g, now, "r")
		if want.lefts != "" {
			lefts := []int64{}
			for _, r := range v.Reserve {
				lefts = append(lefts, int64(r.Left))
			}
			if v.Why != want.why || fmt.Sprint(lefts) != want.lefts ||
				lacks(text, want.sentence) != "" || strings.Contains(text, "in 0s") {
				t.Errorf("after %d: why %q, left %v: %s", n, v.Why, lefts, text)
			}
		}
		for _, rule := range []string{"r", "s"} {
			gatetest.Decide(g, now, gate.Check, rule, "k", 1)
		}
	}
	if v, text := stated(t, g, now, "s"); v.Verdict != "allow" || !v.Shadow || v.Why != "reserve" {
		t.Errorf("in shadow: %s, why %q: %s", v.Verdict, v.Why, text)
	}
}

// TestALadderIsExplained: the block that it is, the time of the next, and when the key is forgiven.
func TestALadderIsExplained(t *testing.T) {
	g := gatetest.New(t, 1<<20, mitigation.Rule{
		Name: "l", Limit: 1, Window: time.Second, Action: mitigation.Block, BlockFor: time.Minute,
		Ladder: mitigation.Ladder{
			Steps:  []time.Duration{time.Minute, time.Hour},
			Forget: 2 * time.Hour,
		},
	})
	now := g.Now()
	over := func() {
		for range 2 {
			gatetest.Decide(g, now, gate.Check, "l", "k", 1)
		}
	}
	if v, text := stated(t, g, now, "l"); v.Strikes.Blocks != 0 || v.Strikes.Next != 60 ||
		v.Strikes.Forgotten != nil || lacks(text, "blocks the key for 1m.") != "" {
		t.Errorf("before: %+v: %s", v.Strikes, text)
	}
	over()
	if v, text := stated(t, g, now, "l"); v.Strikes.Blocks != 1 || v.Strikes.Next != 3600 ||
		lacks(text, "It is block 1 of the key in a row; another within 2h of its end lasts "+
			"1h.") != "" {
		t.Errorf("blocked: %+v: %s", v.Strikes, text)
	}
	now = now.Add(2 * time.Minute)
	if v, text := stated(t, g, now, "l"); v.Verdict != "allow" || v.Strikes.Forgotten == nil ||
		lacks(text, "blocks the key for 1h.", "It was blocked once before, which is forgotten in "+
			"1h59m.") != "" {
		t.Errorf("after it: %+v: %s", v.Strikes, text)
	}
	over()
	if v, text := stated(t, g, now, "l"); v.Strikes.Blocks != 2 ||
		lacks(text, "It is block 2 of the key in a row") != "" {
		t.Errorf("again: %+v: %s", v.Strikes, text)
	}
}
