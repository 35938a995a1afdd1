package admin_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/edge/admin"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/mitigation"
)

// historyAnswer is the answer of GET /v1/history, as a page reads it.
type historyAnswer struct {
	Range  string
	Every  int
	Points []int64
	Rules  []struct {
		Name                                    string
		Offered, Admitted, Denied, ShadowDenied []*float64
	}
}

// TestAdminHistory checks the rates of rules over time, and over a reload.
func TestAdminHistory(t *testing.T) {
	inBubble(t, admin.Options{}, func(t *testing.T, a *node, _ *pipes) {
		empty := askFor[historyAnswer](t, a, "/v1/history")
		if empty.Every != 5 || empty.Range != "15m" || empty.Points == nil ||
			len(empty.Rules) != 0 {
			t.Errorf("%+v", empty)
		}
		time.Sleep(1500 * time.Millisecond) // the first look
		gatetest.Decide(a.gate, a.gate.Now(), gate.Check, "shed", "a", 2)
		gatetest.Decide(a.gate, a.gate.Now(), gate.Check, "shed", "a", 3)
		time.Sleep(5 * time.Second)
		a.gate.SetRules([]mitigation.Rule{
			gatetest.Shadow,
			{Name: "shed", Limit: 9, Window: time.Minute},
			gatetest.Block,
		})
		time.Sleep(5 * time.Second)
		a.gate.SetRules([]mitigation.Rule{gatetest.Shadow, gatetest.Shed})
		time.Sleep(5 * time.Second)
		synctest.Wait()
		v := askFor[historyAnswer](t, a, "/v1/history?rule=shed")
		if len(v.Points) != 3 || v.Points[2]-v.Points[0] != 10 || len(v.Rules) != 1 ||
			v.Rules[0].Name != "shed" {
			t.Fatalf("%+v", v)
		}
		got := ""
		for _, values := range [][]*float64{
			v.Rules[0].Offered, v.Rules[0].Admitted,
			v.Rules[0].Denied,
		} {
			for _, value := range values {
				got += fmt.Sprint(*value, " ")
			}
		}
		if want := "1 0 0 0.4 0 0 0.6 0 0 "; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if all := askFor[historyAnswer](t, a, "/v1/history"); len(all.Rules) != 2 ||
			all.Rules[0].Name != "shadow" {
			t.Errorf("%+v", all)
		}
		time.Sleep(10 * time.Second)
		for name, every := range map[string]int{"1h": 20, "6h": 120} {
			v := askFor[historyAnswer](t, a, "/v1/history?range="+name)
			if v.Range != name || v.Every != every || len(v.Points) != 20/every {
				t.Errorf("%s: %+v", name, v)
			}
		}
		checkProblem(t, a.ask("GET", "/v1/history?range=2h", ""), 400, "range")
		checkProblem(t, a.ask("GET", "/v1/history?rule=block", ""), 404, "rule")
		checkProblem(t, a.ask("GET", "/v1/history?n=3", ""), 400, "n")
	})
}
