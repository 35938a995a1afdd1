package admin_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/admin"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/mitigation"
)

// setByKey asks for a flag of key under the rule shed, with key given by member: key or shown.
func (a *node) setByKey(t *testing.T, member, key string, action mitigation.Action) (status int, answer string) {
	t.Helper()
	w := a.ask("POST", "/v1/mitigations", fmt.Sprintf(`{"rule":"shed",%q:%q,"action":%q}`, member, key, action))
	return w.Code, w.Body.String()
}

// TestAdminRefusesNetworks checks that a network, which no request asks for, is refused in words rather than flagged
// without effect, and that keys which only look alike are not.
func TestAdminRefusesNetworks(t *testing.T) {
	t.Parallel()
	a := newNode(t, admin.Options{Local: true})
	for _, action := range []mitigation.Action{mitigation.Block, mitigation.Allow} {
		for _, network := range []string{"2001:db8::/64", "2001:DB8::1/64", "10.0.0.0/8", "10.1.2.3/8", "0.0.0.0/0", "203.0.113.7/32", "::ffff:10.0.0.0/104"} {
			status, answer := a.setByKey(t, "key", network, action)
			if status != http.StatusBadRequest || !strings.Contains(answer, "networks are not supported yet") || !strings.Contains(answer, `"parameter":"key"`) {
				t.Errorf("%v %s: status %d: %s", action, network, status, answer)
			}
		}
	}
	if s := a.gate.FlagStats(); s.Flags != 0 {
		t.Errorf("%d flags were set", s.Flags)
	}
	for _, key := range []string{"/login", "/10.0.0.0/8", "203.0.113.7/login", "203.0.113.7/13335", "GET /8", "10.0.0.0/33", "2001:db8::/129", "2001:db8::"} {
		if status, answer := a.setByKey(t, "key", key, mitigation.Block); status != http.StatusCreated {
			t.Errorf("%s: status %d: %s", key, status, answer)
		}
	}
	w := a.ask("POST", "/v1/mitigations", `{"rule":"nobody","key":"10.0.0.0/8","action":"block"}`)
	checkProblem(t, w, http.StatusNotFound, "rule")
}

// TestAdminTakesNetworksThatAreKeys checks that a rule whose requests send networks as keys can have them flagged: those
// that are counted or flagged already as they are, any other as lists show it.
func TestAdminTakesNetworksThatAreKeys(t *testing.T) {
	t.Parallel()
	a := newNode(t, admin.Options{Local: true})
	const counted, unseen = "2001:db8::/64", "2001:db8:1::/64"
	a.refuse("shed", counted)
	if status, answer := a.setByKey(t, "key", counted, mitigation.Block); status != http.StatusCreated {
		t.Errorf("a key that is counted: status %d: %s", status, answer)
	}
	if got := gatetest.Decide(a.gate, a.gate.Now(), gate.Check, "shed", counted, 1); got.Why != mitigation.ByBlock {
		t.Errorf("a key that is counted: %+v", got)
	}
	if status, answer := a.setByKey(t, "shown", unseen, mitigation.Block); status != http.StatusCreated {
		t.Errorf("a key as lists show it: status %d: %s", status, answer)
	}
	if got := gatetest.Decide(a.gate, a.gate.Now(), gate.Check, "shed", unseen, 1); got.Why != mitigation.ByBlock {
		t.Errorf("a key as lists show it: %+v", got)
	}
	if status, answer := a.setByKey(t, "key", unseen, mitigation.Allow); status != http.StatusCreated {
		t.Errorf("a key that is flagged: status %d: %s", status, answer)
	}
	if w := a.ask("DELETE", "/v1/mitigations?rule=shed&key="+unseen, ""); w.Code != http.StatusNoContent {
		t.Errorf("lifting: status %d: %s", w.Code, w.Body)
	}
}
