package admin_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/admin"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
)

// TestTopOrders: the first of each order are chosen among all keys, not among the heaviest.
func TestTopOrders(t *testing.T) {
	t.Parallel()
	a := newNode(t, admin.Options{Local: true})
	wide := gatetest.Shed
	wide.Name, wide.Limit = "wide", 100
	a.gate.SetRules(append(a.gate.Rules(), wide))
	now := a.gate.Now()
	for key, n := range map[string]int{"a": 30, "b": 20, "c": 10} {
		for range n {
			gatetest.Decide(a.gate, now, gate.Check, "wide", key, 1)
		}
	}
	for range 15 { // 3 admitted, five times the limit
		gatetest.Decide(a.gate, now, gate.Check, "shed", "d", 1)
	}
	for sort, want := range map[string]string{
		"": "a b d", "offered": "a b d", "admitted": "a b c", "share": "d a b", "rule": "d a b",
	} {
		var got []string
		for _, row := range askFor[api.TopsView](t, a, "/v1/top?n=3&sort="+sort).Top {
			got = append(got, row.Key)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("by %q: %v, want %s", sort, got, want)
		}
	}
	checkProblem(t, a.ask("GET", "/v1/top?sort=size", ""), http.StatusBadRequest, "sort")
	for _, order := range api.TopOrders {
		if w := a.ask("GET", "/v1/top?sort="+order, ""); w.Code != http.StatusOK {
			t.Errorf("%s: status %d", order, w.Code)
		}
	}
}
