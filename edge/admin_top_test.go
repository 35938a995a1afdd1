package edge

import (
	"net/http"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/wire"
)

// TestTopOrders: the first of each order are chosen among all keys, not among the heaviest.
func TestTopOrders(t *testing.T) {
	t.Parallel()
	a := newTestAdmin(t, AdminOptions{Local: true})
	wide := shedRule
	wide.Name, wide.Limit = "wide", 100
	a.edge.setRules(append(a.edge.Rules(), wide))
	now := a.edge.Now()
	for key, n := range map[string]int{"a": 30, "b": 20, "c": 10} {
		for range n {
			a.edge.askAt(now, wire.Check, "wide", key, 1)
		}
	}
	for range 15 { // 3 admitted, five times the limit
		a.edge.askAt(now, wire.Check, "shed", "d", 1)
	}
	for sort, want := range map[string]string{
		"": "a b d", "offered": "a b d", "admitted": "a b c", "share": "d a b", "rule": "d a b",
	} {
		var got []string
		for _, row := range askFor[TopsView](t, a, "/v1/top?n=3&sort="+sort).Top {
			got = append(got, row.Key)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("by %q: %v, want %s", sort, got, want)
		}
	}
	checkAdminProblem(t, a.ask("GET", "/v1/top?sort=size", ""), http.StatusBadRequest, "sort")
	for _, order := range TopOrders {
		if topOrders[order] == nil {
			t.Errorf("%s has no order", order)
		}
	}
}
