package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
)

func TestHealth(t *testing.T) {
	b := newBench(t)
	var status int
	var body string
	b.admin.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if status == http.StatusServiceUnavailable {
			refuse(w, status, body)
			return
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body)) // who does not wait misses it
	})
	for _, c := range []struct {
		status         int
		body           string
		code           int
		stdout, stderr string
	}{
		{200, "ready\n", cli.ExitOK, "ready\n", ""},
		{
			200, "ready, degraded: the \x1b[2Jring is lost\n", cli.ExitOK,
			`ready, degraded: the \x1b[2Jring is lost` + "\n", "",
		},
		{
			503, "the node is starting or stopping", cli.ExitNo,
			"the node is starting or stopping\n", "",
		},
		{404, "", cli.ExitFailed, "", "404 Not Found"},
		{
			200, strings.Repeat("x", 2*cli.MaxHealth), cli.ExitOK,
			strings.Repeat("x", cli.MaxHealth) + "\n", "",
		},
	} {
		status, body = c.status, c.body
		code, stdout, stderr := b.run(t.Context(), "health")
		if code != c.code || stdout != c.stdout || !strings.Contains(stderr, c.stderr) {
			t.Errorf("%d %.40q: exit %d, %.80q, %q", c.status, c.body, code, stdout, stderr)
		}
	}
	status, body = 503, "stopping"
	if code, stdout, _ := b.run(t.Context(), "health", "--json"); code != cli.ExitNo ||
		stdout != "{\n  \"ready\": false,\n  \"status\": \"stopping\",\n  \"faults\": []\n}\n" {
		t.Errorf("--json: exit %d, %s", code, stdout)
	}
	if code, stdout, stderr := b.run(t.Context(), "health", "--admin",
		"127.0.0.1:1"); code != cli.ExitFailed ||
		!strings.Contains(stderr, "no answer from headgate") {
		t.Errorf("nobody there: exit %d, %q, %q", code, stdout, stderr)
	}
}
