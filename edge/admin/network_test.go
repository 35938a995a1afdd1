package admin_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/admin"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/mitigation"
)

// setByKey asks for a flag of key under the rule shed, with key given by member: key or shown.
func (a *node) setByKey(
	t *testing.T, member, key string, action mitigation.Action,
) (status int, answer string) {
	t.Helper()
	w := a.ask("POST", "/v1/mitigations",
		fmt.Sprintf(`{"rule":"shed",%q:%q,"action":%q}`, member, key, action))
	return w.Code, w.Body.String()
}

// TestAdminTakesNetworks checks that the flag of a network holds for the keys in it, in whatever
// form it is written, and that keys which only look alike are single keys.
func TestAdminTakesNetworks(t *testing.T) {
	t.Parallel()
	a := newNode(t, admin.Options{Local: true})
	for _, c := range []struct{ network, shown, key string }{
		{"2001:DB8::1/64", "2001:db8::/64", "2001:db8::7"},
		{"10.1.2.3/8", "10.0.0.0/8", "10.9.9.9"},
		{"203.0.113.7/32", "203.0.113.7/32", "203.0.113.7"},
		{"::ffff:198.51.100.0/120", "198.51.100.0/24", "198.51.100.9"},
	} {
		status, answer := a.setByKey(t, "key", c.network, mitigation.Block)
		if status != http.StatusCreated || !strings.Contains(answer, `"key":"`+c.shown+`"`) {
			t.Errorf("%s: status %d: %s", c.network, status, answer)
		}
		if got := gatetest.Decide(a.gate, a.gate.Now(), gate.Check, "shed", c.key,
			1); got.Why != mitigation.ByBlock {
			t.Errorf("%s in %s: %+v", c.key, c.network, got)
		}
		if w := a.ask("DELETE", "/v1/mitigations?rule=shed&key="+c.key,
			""); w.Code != http.StatusNotFound ||
			!strings.Contains(w.Body.String(), "its network "+c.shown+" has one") {
			t.Errorf("lifting %s: %d %s", c.key, w.Code, w.Body)
		}
		view := decode[api.ExplainView](t,
			a.ask("GET", "/v1/explain?rule=shed&key="+c.key, "").Body.String())
		if !strings.Contains(strings.Join(view.Sentences, " "), "with its network "+c.shown) ||
			!strings.Contains(view.LiftedBy, "headgate unblock shed "+c.shown) {
			t.Errorf("%s: %q, lifted by %q", c.key, view.Sentences, view.LiftedBy)
		}
		if w := a.ask("DELETE", "/v1/mitigations?rule=shed&key="+c.network,
			""); w.Code != http.StatusNoContent {
			t.Errorf("lifting %s: %d %s", c.network, w.Code, w.Body)
		}
	}
	for _, key := range []string{
		"/login", "/10.0.0.0/8", "203.0.113.7/login", "203.0.113.7/13335",
		"GET /8", "10.0.0.0/33", "2001:db8::/129", "2001:db8::",
	} {
		if status, answer := a.setByKey(t, "key", key,
			mitigation.Block); status != http.StatusCreated {
			t.Errorf("%s: status %d: %s", key, status, answer)
		}
	}
	w := a.ask("POST", "/v1/mitigations", `{"rule":"nobody","key":"10.0.0.0/8","action":"block"}`)
	checkProblem(t, w, http.StatusNotFound, "rule")
}

// TestAdminTakesNetworksThatAreKeys checks that a rule whose requests send networks as keys can
// have them flagged: those that are counted or flagged already as they are, any other as lists show
// it.
func TestAdminTakesNetworksThatAreKeys(t *testing.T) {
	t.Parallel()
	a := newNode(t, admin.Options{Local: true})
	const counted, unseen = "2001:db8::/64", "2001:db8:1::/64"
	a.refuse("shed", counted)
	for key, field := range map[string]string{counted: "key", unseen: "shown"} {
		if status, answer := a.setByKey(t, field, key,
			mitigation.Block); status != http.StatusCreated {
			t.Errorf("%s %s: status %d: %s", field, key, status, answer)
		}
		if got := gatetest.Decide(a.gate, a.gate.Now(), gate.Check, "shed", key,
			1); got.Why != mitigation.ByBlock {
			t.Errorf("%s %s: %+v", field, key, got)
		}
	}
	if status, answer := a.setByKey(t, "key", unseen,
		mitigation.Allow); status != http.StatusCreated {
		t.Errorf("a key that is flagged: status %d: %s", status, answer)
	}
	if w := a.ask("DELETE", "/v1/mitigations?rule=shed&key="+unseen,
		""); w.Code != http.StatusNoContent {
		t.Errorf("lifting: status %d: %s", w.Code, w.Body)
	}
}
