package admin

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/mitigation"
)

// The tests of this package look at what no answer shows: how often pictures and scans are made, and the places of connections.
// All others are in admin_test.

// newDoor returns a door to a gate with the four kinds of rules, for readers on this machine.
func newDoor(t testing.TB) *Door {
	t.Helper()
	g := gatetest.New(t, 1<<20, gatetest.Shed, gatetest.Block, gatetest.Shadow, gatetest.Off)
	return New(g, Options{Local: true, Log: slog.New(slog.DiscardHandler)})
}

// ask returns the answer to a request from this machine, with more headers as name, value.
func (a *Door) ask(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Host = "127.0.0.1:4292"
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w
}

// refuse makes key meet its limit under rule.
func (a *Door) refuse(rule, key string) {
	for range 5 {
		gatetest.Decide(a.gate, a.gate.Now(), gate.Check, rule, key, 1)
	}
}

// byHand returns what flags the key k of rule by hand.
func byHand(rule, action string) func(*Door) {
	return func(a *Door) {
		a.ask("POST", "/v1/mitigations", fmt.Sprintf(`{"rule":%q,"key":"k","action":%q,"by":"kim","ttl":"10m"}`, rule, action))
	}
}

// tenThousand returns a door to a gate with 10,000 flags of keys that were all refused.
func tenThousand(tb testing.TB) *Door {
	tb.Helper()
	g := gatetest.New(tb, 64<<20, gatetest.Shed, gatetest.Block)
	a := New(g, Options{Local: true})
	now := g.Now()
	for n := 0; g.FlagStats().Flags < 10_000; n++ {
		key := fmt.Sprintf("198.51.%d.%d", n/250, n%250)
		for range 5 {
			gatetest.Decide(g, now, gate.Check, "block", key, 1)
		}
		if n > 20_000 {
			tb.Fatal("the flags do not fit")
		}
	}
	return a
}

// manyRules are as many rules as there may be.
func manyRules(limit int64) []mitigation.Rule {
	rules := make([]mitigation.Rule, mitigation.MaxRules)
	for i := range rules {
		rules[i] = mitigation.Rule{Name: fmt.Sprintf("rule-%d", i), Limit: limit, Window: 10 * time.Second}
	}
	return rules
}

// decode reads the JSON of an answer.
func decode[T any](t testing.TB, w *httptest.ResponseRecorder) (v T) {
	t.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		t.Fatalf("status %d: %v in %s", w.Code, err, w.Body)
	}
	return v
}

// flagRatio gives the key k of rule a drop ratio, as a node does that starts with the state of an earlier one.
func (a *Door) flagRatio(rule string, ratio mitigation.Ratio) {
	now := a.gate.Now()
	written := a.gate.Wall(now).UnixMicro()
	_, _ = a.gate.Restore(now, &gate.Snapshot{
		Written: written, Rules: []gate.SnapshotRule{{Name: rule, Window: a.gate.Rule([]byte(rule)).Window}},
		Flags: []gate.SnapshotFlag{{Key: []byte("k"), Ratio: ratio, Since: written, Until: written + time.Minute.Microseconds()}},
	}, 0)
}
