package admin

import (
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
)

// The tests of this package look at parts of the listener that no answer shows: the pace of scans,
// the words for faults, the lists under way at once. All others are in admin_test.

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

// decode reads the JSON of an answer.
func decode[T any](t testing.TB, w *httptest.ResponseRecorder) (v T) {
	t.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		t.Fatalf("status %d: %v in %s", w.Code, err, w.Body)
	}
	return v
}
