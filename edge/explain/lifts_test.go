package explain_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/explain"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
)

// The histories of a key: a flag was set by hand, the key met its limit, used some of it, or was
// given a ratio.

func byHand(rule string, action mitigation.Action) func(*gate.Gate) {
	return func(g *gate.Gate) { override(g, rule, "k", action, 10*time.Minute) }
}

func override(g *gate.Gate, rule, key string, action mitigation.Action, ttl time.Duration) {
	_, err := g.Override(g.Now(),
		gate.ByHand{Rule: rule, Key: []byte(key), Action: action, TTL: ttl, Who: "kim"})
	if err != nil {
		panic(err)
	}
}

func refused(rule, key string) func(*gate.Gate) {
	return func(g *gate.Gate) {
		for range 5 {
			gatetest.Decide(g, g.Now(), gate.Check, rule, key, 1)
		}
	}
}

func used(rule string, cost uint32) func(*gate.Gate) {
	return func(g *gate.Gate) { gatetest.Decide(g, g.Now(), gate.Check, rule, "k", cost) }
}

// drawn refuses every request of key k by a ratio, for a minute. The flag comes from all PoPs, and
// remains when the rule is the node's alone again.
func drawn(rule string) func(*gate.Gate) { return shedBy(rule, mitigation.MaxRatio) }

// shedBy refuses a share of the requests of key k, as drawn does.
func shedBy(rule string, ratio mitigation.Ratio) func(*gate.Gate) {
	return func(g *gate.Gate) {
		own := g.Rules()
		worldwide := g.Rules()
		for n := range worldwide {
			worldwide[n].Scope = mitigation.Global
		}
		g.SetRules(worldwide)
		now := g.Now()
		f, err := g.Override(now, gate.ByHand{
			Rule: rule, Key: []byte("k"),
			Action: mitigation.Allow, TTL: time.Minute,
		})
		if err != nil {
			panic(err)
		}
		g.Lift(now, rule, []byte("k"), "")
		g.Apply(now, control.Advice{
			Rule: rule, Key: []byte("k"), Index: f.Index, Ratio: ratio, RateOnly: 100,
			Until: now.Add(time.Minute),
		})
		g.SetRules(own)
	}
}

// newGate returns a gate with the four kinds of rules and a way to other PoPs.
func newGate() *gate.Gate {
	return gate.New(gate.Options{
		Node: "test", Memory: 1 << 20, Flush: 100 * time.Millisecond, Start: time.Now(),
		Global: &gate.Global{},
		Rules:  []mitigation.Rule{gatetest.Shed, gatetest.Block, gatetest.Shadow, gatetest.Off},
	})
}

// explained returns the explanation of key under rule now.
func explained(t *testing.T, from explain.Sources, rule, key string) api.ExplainView {
	t.Helper()
	v, ok := explain.Key(from, from.Gate.Now(), 1<<63, explain.About{Rule: rule, Key: []byte(key)})
	if !ok {
		t.Fatalf("no rule %s", rule)
	}
	return v
}

var liftCases = []struct {
	name      string
	rule, key string
	before    func(g *gate.Gate)
	verdict   string
	why       string
	shadow    bool
	lifts     string
}{
	{"new", "shed", "k", nil, "allow", "", false, "nothing to lift: 3 of 3 left"},
	{
		"some", "shed", "k", used("shed", 2), "allow", "", false,
		"nothing to lift: 1 of 3 left",
	},
	{
		"shed", "shed", "k", refused("shed", "k"), "deny", "limit", false,
		"9s from now the oldest of 3 admitted leaves the window; `headgate unblock shed k` " +
			"clears the count now",
	},
	{
		"shed, flag not noted", "shed", "k", used("shed", 3), "deny", "limit", false,
		"9s from now the oldest of 3 admitted leaves the window",
	},
	{
		"about to be blocked", "block", "k", used("block", 3), "deny", "limit", false,
		"9s from now the oldest of 3 admitted leaves the window, but a check before then blocks " +
			"the key for 1m",
	},
	{
		"blocked", "block", "k", refused("block", "k"), "deny", "block", false,
		"the block ends in 59s; `headgate unblock block k` lifts it now",
	},
	{
		"blocked, odd key", "block", "-k'", refused("block", "-k'"), "deny", "block", false,
		"the block ends in 59s; `headgate unblock -- block $'-k\\x27'` lifts it now",
	},
	{
		"blocked by hand", "shed", "k", byHand("shed", mitigation.Block), "deny", "block", false,
		"the block ends in 9m59s; `headgate unblock shed k` lifts it now",
	},
	{
		"allowed by hand", "shed", "k", byHand("shed", mitigation.Allow), "allow", "", false,
		"nothing to lift: allowed by hand (kim) for another 9m59s",
	},
	{
		"in shadow", "shadow", "k", refused("shadow", "k"), "allow", "limit", true,
		"nothing to lift: the rule is in shadow and allows everything; if enforced, 9s from now " +
			"the oldest of 3 admitted " +
			"leaves the window; `headgate unblock shadow k` clears the count now",
	},
	{
		"in shadow, blocked by hand", "shadow", "k", byHand("shadow", mitigation.Block),
		"allow", "block", true,
		"nothing to lift: the rule is in shadow and allows everything; if enforced, the block " +
			"ends in 9m59s; " +
			"`headgate unblock shadow k` lifts it now",
	},
	{
		"in shadow, drawn for", "shadow", "k", drawn("shadow"), "allow", "shed", true,
		"nothing to lift: the rule is in shadow and allows everything; if enforced, 100 % of its " +
			"requests are " +
			"denied at random; that ends in 59s, and `headgate unblock shadow k` ends it now",
	},
	{"in shadow, below", "shadow", "k", nil, "allow", "", false, "nothing to lift: 3 of 3 left"},
	{
		"off", "off", "k", refused("off", "k"), "allow", "", false,
		"nothing to lift: the rule is off",
	},
	{
		"drawn for", "shed", "k", drawn("shed"), "deny", "shed", false,
		"100 % of its requests are denied at random; that ends in 59s, and `headgate unblock " +
			"shed k` ends it now",
	},
}

// TestLifts checks the verdict, the ground and the words for every way a key can stand on one node.
func TestLifts(t *testing.T) {
	t.Parallel()
	for _, tt := range liftCases {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newGate()
				if tt.before != nil {
					tt.before(g)
				}
				time.Sleep(1500 * time.Millisecond)
				v := explained(t, explain.Sources{Gate: g}, tt.rule, tt.key)
				if v.Verdict != tt.verdict || v.Why != tt.why || v.Shadow != tt.shadow {
					t.Errorf("%s, why %q, shadow %v", v.Verdict, v.Why, v.Shadow)
				}
				if v.LiftedBy != tt.lifts {
					t.Errorf("%s\nwant %s", v.LiftedBy, tt.lifts)
				}
			})
		})
	}
}

// TestSentences checks the sentences for every way a key can stand on one node.
func TestSentences(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, tt := range liftCases {
		synctest.Test(t, func(t *testing.T) {
			g := newGate()
			if tt.before != nil {
				tt.before(g)
			}
			time.Sleep(1500 * time.Millisecond)
			fmt.Fprintf(&all, "%s:\n", tt.name)
			for _, sentence := range explained(t, explain.Sources{Gate: g}, tt.rule,
				tt.key).Sentences {
				fmt.Fprintf(&all, "  %s\n", sentence)
			}
		})
	}
	explain.CompareGolden(t, "sentences", []byte(all.String()))
}

// TestRuleGone: a rule that is not in force has no explanation.
func TestRuleGone(t *testing.T) {
	t.Parallel()
	g := newGate()
	g.SetRules([]mitigation.Rule{gatetest.Block})
	if v, ok := explain.Key(explain.Sources{Gate: g}, g.Now(), 0,
		explain.About{Rule: "shed", Key: []byte("k")}); ok {
		t.Errorf("%+v", v)
	}
}

func TestSpan(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0s", 1: "1s", time.Second: "1s", 59*time.Second + 1: "1m",
		598 * time.Second: "9m58s",
		time.Hour:         "1h", time.Hour + time.Second: "1h1s", 720 * time.Hour: "720h",
	} {
		if got := explain.Span(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}
