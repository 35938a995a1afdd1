package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/cmd/headgate/clitest"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/live"
)

// fakeAdmin answers as the admin listener does, from canned views, and remembers the requests.
type fakeAdmin struct {
	http.ServeMux
	token string // wanted of changes; empty: none
	peers api.ClusterView

	mu    sync.Mutex
	asked []string // guarded by mu
}

func newFakeAdmin() *fakeAdmin {
	f := &fakeAdmin{}
	f.HandleFunc("GET /v1/rules", f.rules)
	f.HandleFunc("GET /v1/mitigations", f.mitigations)
	f.HandleFunc("POST /v1/mitigations", f.set)
	f.HandleFunc("DELETE /v1/mitigations", f.lift)
	f.HandleFunc("GET /v1/top", f.top)
	f.HandleFunc("GET /v1/explain", f.explain)
	f.HandleFunc("GET /v1/past", f.past)
	f.HandleFunc("GET /v1/surge", f.surge)
	f.HandleFunc("GET /v1/events", f.events)
	f.HandleFunc("GET /v1/suggest", f.suggest)
	f.HandleFunc("GET /v1/policies", f.policies)
	f.HandleFunc("POST /v1/test-request", f.testRequest)
	f.HandleFunc("GET /v1/pools", f.pools)
	f.HandleFunc("GET /v1/rls", f.rls)
	f.HandleFunc("GET /v1/leases", f.leases)
	f.HandleFunc("GET /v1/cluster",
		func(w http.ResponseWriter, _ *http.Request) { reply(w, f.peers) })
	f.HandleFunc("POST /v1/reload", func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusUnprocessableEntity,
			"headgate.yaml:3:5: rules[0].limt: unknown field\nheadgate.yaml:9:1: it goes on")
	})
	f.HandleFunc("GET /v1/config", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, api.ConfigView{
			File:        "/etc/headgate\x1b[2J.yaml",
			Since:       clitest.Noon.Add(-time.Hour),
			NeedRestart: []string{"listen.udp", "memory"},
			Config: []byte(
				`{"node":"edge-1","listen":{"udp":["127.0.0.1:4290"]},"ring":{"servers":[]},"rules":[{"name":"per-ip","limit":100}]}`),
		})
	})
	f.HandleFunc("PUT /v1/mode", func(w http.ResponseWriter, r *http.Request) { f.known(w, r) })
	return f
}

// ServeHTTP notes the request, then lets it through or not.
func (f *fakeAdmin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	line := strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Method, r.URL, body))
	if auth := r.Header.Get("Authorization"); auth != "" {
		line += " with " + auth
	}
	f.mu.Lock()
	f.asked = append(f.asked, line)
	f.mu.Unlock()
	if r.Method != http.MethodGet && f.token != "" &&
		r.Header.Get("Authorization") != "Bearer "+f.token {
		refuse(w, http.StatusUnauthorized, "the admin token is missing or wrong")
		return
	}
	f.ServeMux.ServeHTTP(w, r)
}

// requests returns the requests since the last call, a line each.
func (f *fakeAdmin) requests() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	asked := f.asked
	f.asked = nil
	return asked
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) //nolint:errchkjson // plain values
}

func refuse(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(cli.Problem{
		Type: "about:blank", Title: http.StatusText(status),
		Status: status, Detail: detail,
	})
}

// known refuses a request about a rule that there is not, and reports whether it did not have to.
func (f *fakeAdmin) known(w http.ResponseWriter, r *http.Request) bool {
	var body struct{ Rule string }
	_ = json.NewDecoder(r.Body).Decode(&body)
	switch rule := cli.First(r.FormValue("rule"), body.Rule); rule {
	case "", "per-ip", "login":
		return true
	default:
		refuse(w, http.StatusNotFound, "unknown rule")
		return false
	}
}

func (f *fakeAdmin) mitigations(w http.ResponseWriter, r *http.Request) {
	if !f.known(w, r) {
		return
	}
	page := api.MitigationsView{Total: 3, NextCursor: "page2", Mitigations: []api.MitigationView{
		{
			Rule: "login", Key: "203.0.113.7", Action: "block", Ratio: 1, Mode: "enforce",
			View: "node", Source: "self",
			Since: clitest.Noon.Add(-time.Minute), Expires: clitest.Noon.Add(9 * time.Minute),
			Offered: 1234, Limit: 5, Strikes: 2,
		},
		{
			Rule: "per-ip", Key: clitest.HostileKey, Action: "shed", Ratio: 0.83, Mode: "shadow",
			View: "node", Source: "self",
			Since: clitest.Noon.Add(-time.Hour), Expires: clitest.Noon.Add(4500 * time.Millisecond),
			Offered: 588, Limit: 100, Blast: 140,
		},
	}}
	switch {
	case r.FormValue("rule") == "login":
		page = api.MitigationsView{Mitigations: []api.MitigationView{}}
	case r.FormValue("cursor") == "page2":
		page = api.MitigationsView{Total: 3, Mitigations: []api.MitigationView{{
			Rule: "login", Key: "office", Action: "allow", Mode: "enforce", View: "node",
			Source: "manual:ann", Reason: "our own\nwatchdog",
			Since: clitest.Noon.Add(-time.Hour), Expires: clitest.Noon.Add(26 * time.Hour),
			Limit: 5, Strikes: 2,
		}}}
	case r.FormValue("n") == "1":
		page.Mitigations = page.Mitigations[:1]
	}
	reply(w, page)
}

func (f *fakeAdmin) set(w http.ResponseWriter, r *http.Request) {
	var m api.MitigationRequest
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &m)
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	if f.known(w, r) {
		reply(w, api.MitigationView{
			Rule: m.Rule, Key: cli.First(m.Key, m.Shown), Mode: "enforce",
			Action: m.Action, Source: "manual:" + m.By, Reason: m.Reason,
			Expires: clitest.Noon.Add(10 * time.Minute),
		})
	}
}

func (f *fakeAdmin) lift(w http.ResponseWriter, r *http.Request) {
	switch {
	case !f.known(w, r):
	case r.FormValue("key") == "nobody":
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(cli.Problem{
			Status: http.StatusNotFound, Parameter: "key",
			Detail: "key has no mitigation under this rule",
		})
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

func (f *fakeAdmin) top(w http.ResponseWriter, r *http.Request) {
	if r.FormValue("sort") == "used" {
		reply(w, topOfKinds(r.FormValue("rule")))
		return
	}
	if f.known(w, r) {
		reply(w, api.TopsView{Top: []api.TopView{
			{
				Rule: "login", Key: "203.0.113.7", Offered: 1234, Admitted: 5, Limit: 5,
				Share: 246.8, State: "block",
			},
			{
				Rule: "per-ip", Key: clitest.HostileKey, Offered: 588, Admitted: 100, Limit: 100,
				Share: 5.88, State: "shed",
			},
			{
				Rule: "per-ip", Key: "198.51.100.20", Offered: 42, Admitted: 42, Limit: 100,
				Share: 0.42, State: "ok",
			},
		}})
	}
}

// events sends one of each, a hostile one among them, and one of a kind that is not known yet.
func (f *fakeAdmin) events(w http.ResponseWriter, _ *http.Request) {
	flag := api.MitigationView{
		Rule: "login", Key: "203.0.113.7", Action: "block", Ratio: 1, Source: "self",
		Since: clitest.Noon, Expires: clitest.Noon.Add(10 * time.Minute),
	}
	shed := api.MitigationView{
		Rule: "per-ip", Key: clitest.HostileKey, Action: "shed", Ratio: 0.83, Source: "ring",
		Since: clitest.Noon.Add(-time.Minute), Expires: clitest.Noon.Add(time.Second),
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := []byte(live.Beat)
	for n, e := range []struct {
		name string
		data any
	}{
		{api.EventHello, api.HelloView{Node: "edge-1", PoP: "lhr", Version: "v1"}},
		{api.EventFlagSet, flag},
		{api.EventFlagChanged, shed},
		{api.EventFlagCleared, shed},
		{api.EventLost, api.LostView{Events: 7}},
		{"of-a-later-version", 1},
	} {
		data, _ := json.Marshal(e.data) //nolint:errchkjson // plain values
		out = live.AppendEvent(out, uint64(n), e.name, data)
	}
	_, _ = w.Write(out)
}

// bench is the program with its surroundings under control.
type bench struct {
	t     *testing.T
	env   map[string]string
	admin *fakeAdmin
	hide  *strings.Replacer // values that differ from run to run, and their substitutes
}

// newBench starts a fake daemon: an admin listener, and datagrams.
func newBench(t *testing.T) *bench {
	t.Helper()
	admin := newFakeAdmin()
	server := httptest.NewServer(admin)
	t.Cleanup(server.Close)
	at := server.Listener.Addr().String()
	dir := t.TempDir()
	b := &bench{
		t: t, admin: admin,
		env: map[string]string{
			"HEADGATE_ADMIN": at, "USER": "ann",
			"UDP": fakeDaemon(t, "udp", "127.0.0.1:0"), "DIR": dir,
		},
	}
	b.hide = strings.NewReplacer(at, "ADMIN", b.env["UDP"], "UDP", dir, "DIR")
	return b
}

// run runs headgate with args, of which $UDP and $DIR are filled in.
func (b *bench) run(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	b.t.Helper()
	var out, errs strings.Builder
	a := cli.NewApp(&out, &errs)
	a.Getenv = func(name string) string { return b.env[name] }
	a.Now = func() time.Time { return clitest.Noon }
	filled := make([]string, len(args))
	for i, arg := range args {
		filled[i] = strings.NewReplacer("$UDP", b.env["UDP"], "$DIR",
			filepath.ToSlash(b.env["DIR"])).Replace(arg)
	}
	code = a.Run(ctx, commands, filled)
	return code, b.hide.Replace(out.String()), b.hide.Replace(errs.String())
}
