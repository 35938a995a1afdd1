package admin_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/admin"
	"github.com/headgate-dev/headgate/edge/api"
)

// TestAudit: every change has one line, with its kind, author, reason and client; a request that
// changes nothing has none.
func TestAudit(t *testing.T) {
	t.Parallel()
	var log, audit bytes.Buffer
	fails := false
	a := newNode(t, admin.Options{
		Local: true, Log: slog.New(slog.NewTextHandler(&log, nil)),
		Audit: slog.New(slog.NewTextHandler(&audit, nil)),
		Reload: func(bool) (v api.ReloadView, err error) {
			if fails {
				err = errors.New("a.yaml:1:1: a fault")
			}
			return v, err
		},
	})
	const word = `"by":"kim","reason":"ticket 4711"`
	for _, c := range []struct{ method, target, body, change string }{
		{
			"POST", "/v1/mitigations",
			`{"rule":"shed","key":"k\u001b","action":"block","ttl":"10m",` + word +
				`}`, `change=block from=192.0.2.1:1234 rule=shed key=k\x1b ttl=10m0s`,
		},
		{
			"DELETE", `/v1/mitigations?rule=shed&shown=k\x1b&by=kim&reason=ticket+4711`, "",
			`change=lift from=192.0.2.1:1234 rule=shed key=k\x1b was=block source=manual:kim`,
		},
		{
			"PUT", "/v1/mode", `{"mode":"shadow","rule":"shed",` + word + `}`,
			`change=mode from=192.0.2.1:1234 mode=shadow rule=shed`,
		},
		{"POST", "/v1/reload", `{` + word + `}`, `change=reload from=192.0.2.1:1234`},
	} {
		audit.Reset()
		if w := a.ask(c.method, c.target, c.body); w.Code/100 != 2 {
			t.Errorf("%s %s: %d %s", c.method, c.target, w.Code, w.Body)
		}
		want := `level=INFO msg="admin: changed" ` + c.change + ` by=kim reason="ticket 4711"` +
			"\n"
		if got := audit.String(); !strings.HasSuffix(got, want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%s %s:\n got %swant %s", c.method, c.target, got, want)
		}
	}
	audit.Reset()
	fails = true
	a.ask("POST", "/v1/reload", "")
	if got := audit.String(); !strings.HasSuffix(got,
		`level=WARN msg="admin: reload rejected, nothing was changed" from=192.0.2.1:1234 by=admin reason="" faults=1`+"\n") {
		t.Errorf("a reload that failed: %s", got)
	}
	if strings.Contains(log.String(), "admin: changed") {
		t.Errorf("the other log has it too: %s", log.String())
	}
}

// TestAuditBad: odd characters and texts that are too long are refused, and nothing is changed.
func TestAuditBad(t *testing.T) {
	t.Parallel()
	var audit bytes.Buffer
	a := newNode(t, admin.Options{
		Local: true, Audit: slog.New(slog.NewTextHandler(&audit, nil)),
		Reload: func(bool) (v api.ReloadView, err error) { return v, nil },
	})
	a.put(t, "shed", "k")
	long := strings.Repeat("x", 257)
	for _, c := range []struct{ method, target, body, parameter string }{
		{"DELETE", "/v1/mitigations?rule=shed&key=k&by=%0aroot", "", "by"},
		{"DELETE", "/v1/mitigations?rule=shed&key=k&reason=" + long, "", "reason"},
		{"DELETE", "/v1/mitigations?rule=shed&key=k&ttl=1s", "", "ttl"},
		{"PUT", "/v1/mode", `{"mode":"off","by":"\u202e"}`, "by"},
		{"PUT", "/v1/mode", `{"mode":"off","reason":"` + long + `"}`, "reason"},
		{"POST", "/v1/reload", `{"by":"` + long + `"}`, "by"},
		{"POST", "/v1/reload", `{"rule":"shed"}`, "rule"},
	} {
		checkProblem(t, a.ask(c.method, c.target, c.body), http.StatusBadRequest, c.parameter)
	}
	if audit.Len() > 0 || a.gate.Rules()[0].Mode != 0 {
		t.Errorf("changed: %s", audit.String())
	}
}
