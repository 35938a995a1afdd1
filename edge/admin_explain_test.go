package edge

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
)

// What happened before: a flag was set by hand, a key met its limit, used some of it, or was given a ratio.

func byHand(rule, action string) func(*Admin) {
	return func(a *Admin) {
		a.ask("POST", "/v1/mitigations", fmt.Sprintf(`{"rule":%q,"key":"k","action":%q,"by":"kim","ttl":"10m"}`, rule, action))
	}
}

func refused(rule, key string) func(*Admin) { return func(a *Admin) { a.refuse(rule, key) } }

func used(rule string, cost uint32) func(*Admin) {
	return func(a *Admin) { a.edge.askAt(a.edge.Now(), wire.Check, rule, "k", cost) }
}

func drawn(rule string) func(*Admin) {
	return func(a *Admin) { a.flagRatio(rule, mitigation.MaxRatio) }
}

var liftCases = []struct {
	name      string
	rule, key string
	before    func(a *Admin)
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
		"9s from now the oldest of 3 admitted leaves the window; `headgate unblock shed k` forgets them now",
	},
	{
		"shed, flag not noted", "shed", "k", used("shed", 3), "deny", "limit", false,
		"9s from now the oldest of 3 admitted leaves the window",
	},
	{
		"about to be blocked", "block", "k", used("block", 3), "deny", "limit", false,
		"9s from now the oldest of 3 admitted leaves the window, but a check before then blocks the key for 1m",
	},
	{
		"blocked", "block", "k", refused("block", "k"), "deny", "block", false,
		"the block flag ends in 59s; `headgate unblock block k` lifts it now",
	},
	{
		"blocked, odd key", "block", "-k'", refused("block", "-k'"), "deny", "block", false,
		"the block flag ends in 59s; `headgate unblock -- block $'-k\\x27'` lifts it now",
	},
	{
		"blocked by hand", "shed", "k", byHand("shed", "block"), "deny", "block", false,
		"the block flag ends in 9m59s; `headgate unblock shed k` lifts it now",
	},
	{
		"allowed by hand", "shed", "k", byHand("shed", "allow"), "allow", "", false,
		"nothing to lift: allowed by hand (kim) for another 9m59s",
	},
	{
		"in shadow", "shadow", "k", refused("shadow", "k"), "allow", "limit", true,
		"nothing to lift: the rule is in shadow and lets everything pass; were it enforced, 9s from now the oldest of 3 admitted " +
			"leaves the window; `headgate unblock shadow k` forgets them now",
	},
	{
		"in shadow, blocked by hand", "shadow", "k", byHand("shadow", "block"), "allow", "block", true,
		"nothing to lift: the rule is in shadow and lets everything pass; were it enforced, the block flag ends in 9m59s; " +
			"`headgate unblock shadow k` lifts it now",
	},
	{
		"in shadow, drawn for", "shadow", "k", drawn("shadow"), "allow", "shed", true,
		"nothing to lift: the rule is in shadow and lets everything pass; were it enforced, each request is drawn for: 100 % are " +
			"refused; that ends in 59s, and `headgate unblock shadow k` ends it now",
	},
	{"in shadow, below", "shadow", "k", nil, "allow", "", false, "nothing to lift: 3 of 3 left"},
	{"off", "off", "k", refused("off", "k"), "allow", "", false, "nothing to lift: the rule is off"},
	{
		"drawn for", "shed", "k", drawn("shed"), "deny", "shed", false,
		"each request is drawn for: 100 % are refused; that ends in 59s, and `headgate unblock shed k` ends it now",
	},
}

// TestAdminLifts checks the verdict, the ground and the words for every way a key can stand.
func TestAdminLifts(t *testing.T) {
	t.Parallel()
	for _, tt := range liftCases {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := newTestAdmin(t, AdminOptions{Local: true})
				if tt.before != nil {
					tt.before(a)
				}
				time.Sleep(1500 * time.Millisecond)
				v := askFor[ExplainView](t, a, "/v1/explain?"+url.Values{"rule": {tt.rule}, "key": {tt.key}}.Encode())
				if v.Verdict != tt.verdict || v.Why != tt.why || v.Shadow != tt.shadow {
					t.Errorf("%s, why %q, shadow %v", v.Verdict, v.Why, v.Shadow)
				}
				if v.Lifts != tt.lifts {
					t.Errorf("%s\nwant %s", v.Lifts, tt.lifts)
				}
			})
		})
	}
}

// flagRatio gives the key k of rule a drop ratio, as the wider views will.
func (a *Admin) flagRatio(rule string, ratio mitigation.Ratio) {
	now := a.edge.Now()
	a.edge.flags.Put(now, mitigation.Flag{
		Index: a.edge.rules.Load().byName[rule].meter.Index([]byte("k")), Rule: rule, Key: []byte("k"),
		Ratio: ratio, Since: now, Until: now.Add(time.Minute),
	})
}

// TestAdminExplainCountsNothing checks that asking changes no count.
func TestAdminExplainCountsNothing(t *testing.T) {
	t.Parallel()
	a := newTestAdmin(t, AdminOptions{Local: true})
	for range 10 {
		if v := askFor[ExplainView](t, a, "/v1/explain?rule=shed&key=k"); v.Remaining != 3 || v.Offered != 0 || v.Suspect {
			t.Fatalf("%+v", v)
		}
	}
	if r := askFor[RulesView](t, a, "/v1/rules").Rules[0]; r.Offered != 0 {
		t.Errorf("%+v", r)
	}
}

// TestAdminRuleGone checks that a rule that a reload takes away while it is explained is said to be gone.
func TestAdminRuleGone(t *testing.T) {
	t.Parallel()
	a := newTestAdmin(t, AdminOptions{Local: true})
	gone := a.edge.rules.Load().byName["shed"]
	a.edge.setRules([]mitigation.Rule{blockRule})
	if v, ok := a.edge.explain(a.edge.Now(), gone, []byte("k")); ok {
		t.Errorf("%+v", v)
	}
	checkAdminProblem(t, a.ask("GET", "/v1/explain?rule=shed&key=k", ""), http.StatusNotFound, "rule")
}

func TestSpanOf(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0s", 1: "1s", time.Second: "1s", 59*time.Second + 1: "1m", 598 * time.Second: "9m58s",
		time.Hour: "1h", time.Hour + time.Second: "1h1s", 720 * time.Hour: "720h",
	} {
		if got := spanOf(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}
