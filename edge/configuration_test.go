package edge

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/config"
)

// parsed is the configuration that text means.
func parsed(t *testing.T, text []byte) config.Config {
	t.Helper()
	c, err := config.Parse("answer", text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return c
}

// TestConfiguration: /v1/config answers the configuration in force, with modes set by hand,
// settings that wait for a restart, and no secret.
func TestConfiguration(t *testing.T) {
	t.Parallel()
	n := newReloadNode(t, "gossip: {key_file: $KEY}\n")
	inForce := func() (api.ConfigView, config.Config) {
		t.Helper()
		w := n.ask(http.MethodGet, "/v1/config", "")
		for _, secret := range []string{strings.Repeat("k", 32), "first"} {
			if strings.Contains(w.Body.String(), secret) {
				t.Errorf("the answer holds the secret %q: %s", secret, w.Body)
			}
		}
		var v api.ConfigView
		if err := json.Unmarshal(w.Body.Bytes(), &v); w.Code != http.StatusOK || err != nil {
			t.Fatalf("%d %v: %s", w.Code, err, w.Body)
		}
		text, err := config.YAMLFromJSON(v.Config)
		if err != nil {
			t.Fatal(err)
		}
		return v, parsed(t, text)
	}
	v, c := inForce()
	if v.File != n.path("headgate.yaml") || v.Since.IsZero() || v.NeedRestart != nil ||
		c.Memory != 4<<20 || c.Node == "" || c.AdminTokenFile != n.path("token") {
		t.Errorf("at the start: %+v %+v", v, c)
	}
	if w := n.ask(http.MethodPut, "/v1/mode", `{"mode":"shadow"}`); w.Code != http.StatusNoContent {
		t.Fatal(w.Body)
	}
	if _, c = inForce(); len(c.Rules) != 1 || c.Rules[0].Mode.String() != "shadow" {
		t.Errorf("after a change by hand: %+v", c.Rules)
	}
	n.write("headgate.yaml", strings.NewReplacer("4MiB", "8MiB", "limit: 100", "limit: 7").Replace(
		string(n.read("headgate.yaml"))))
	if _, err := n.Reload(); err != nil {
		t.Fatal(err)
	}
	next, c := inForce()
	if c.Memory != 4<<20 || c.Rules[0].Limit != 7 || c.Rules[0].Mode.String() != "enforce" ||
		len(next.NeedRestart) != 1 || next.NeedRestart[0] != "memory" ||
		next.Since.Before(v.Since) {
		t.Errorf("after a reload: %+v %+v", next, c)
	}
	n.write("headgate.yaml", "rules: 7\nlisten: 3\n")
	if _, err := n.Reload(); err == nil {
		t.Fatal("faults were taken")
	}
	if v, c = inForce(); c.Rules[0].Limit != 7 || !v.Since.Equal(next.Since) {
		t.Errorf("after a reload that was refused: %+v %+v", v, c)
	}
	if log := n.said.String(); !strings.Contains(log, "level=WARN msg=\"reload rejected, nothing "+
		"was changed\"") || strings.Contains(log, `\\x0a`) ||
		!strings.Contains(log, "headgate.yaml:1:8: rules: must be a list, not a single value "+
			n.path("headgate.yaml")+":2:9: ") {
		t.Errorf("the log:\n%s", log)
	}
}
