package edge

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/ring/minimal"
	"github.com/headgate-dev/headgate/mitigation"
)

// reloadNode is a daemon that has its doors open and does not run: a test drives it by hand.
type reloadNode struct {
	*Node
	testing.TB
	dir       string
	memcached *minimal.Server
	said      *edgetest.Log

	token string // that is shown for changes
}

// reloadDoors are the doors of a reloadNode.
const reloadDoors = `listen: {udp: "127.0.0.1:0", http: [], admin: "127.0.0.1:0"}` + "\n"

// reloadRules are a rule whose counters keep their names for long.
const reloadRules = "rules: [{name: r, limit: 100, window: 24h, scope: pop}]\n"

// newReloadNode returns a daemon with a ring, a key file, a token file, and more in its
// configuration.
func newReloadNode(t testing.TB, more string) *reloadNode {
	t.Helper()
	n := &reloadNode{TB: t, dir: t.TempDir(), said: &edgetest.Log{}, token: "first"}
	var err error
	if n.memcached, err = minimal.Open(t.Context(), time.Now); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.memcached.Close() })
	n.write("cluster.key", strings.Repeat("k", 32))
	n.write("token", n.token+"\n")
	n.configure(more)
	if n.Node, err = New(t.Context(),
		Options{File: n.path("headgate.yaml"), Log: slog.New(slog.NewTextHandler(n.said,
			nil))}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	return n
}

// configure writes the configuration, with more in it.
func (n *reloadNode) configure(more string) {
	n.Helper()
	n.write("headgate.yaml", fmt.Sprintf("memory: 4MiB\nring: {servers: [%q]}\nadmin_token_file: "+
		"%q\n", n.memcached.Addr(), n.path("token"))+
		reloadDoors+strings.ReplaceAll(more, "$KEY", n.path("cluster.key"))+reloadRules)
}

func (n *reloadNode) path(file string) string { return filepath.Join(n.dir, file) }

func (n *reloadNode) read(file string) []byte {
	n.Helper()
	b, err := os.ReadFile(n.path(file))
	if err != nil {
		n.Fatal(err)
	}
	return b
}

func (n *reloadNode) write(file, text string) {
	n.Helper()
	if err := os.WriteFile(n.path(file), []byte(text), 0o600); err != nil {
		n.Fatal(err)
	}
}

// counters returns the names of the clients' counters in the ring. Those of heartbeats, clocks and
// notices live for a day at most.
func (n *reloadNode) counters() (names []string) {
	for name := range n.totals() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// count has clients ask, a request each, and flushes until the ring has been told of each of them.
func (n *reloadNode) count(clients int) {
	n.Helper()
	before := n.totals()
	for c := range clients {
		q := gate.Ask{
			Op: gate.Check, Rule: []byte("r"),
			Key: fmt.Appendf(nil, "client %d", c), Cost: 1,
		}
		if a, err := n.gate.Lane(0).Decide(n.gate.Now(), 0, q); err != nil || a.Deny {
			n.Fatalf("%+v", a)
		}
	}
	edgetest.Await(n, "the ring is told", edgetest.Patience, func() bool {
		n.flusher.Flush(n.Context(), n.gate.Now(), time.Now())
		told := 0
		for name, total := range n.totals() {
			if total > before[name] {
				told++
			}
		}
		return told >= clients
	})
}

// totals returns the clients' counters by name.
func (n *reloadNode) totals() map[string]uint64 {
	all := map[string]uint64{}
	for _, c := range n.memcached.Counters() {
		if time.Until(c.Until) > 25*time.Hour {
			all[c.Name] = c.Total
		}
	}
	return all
}

// A key file that is half written when it is read refuses the reload, and every counter of the ring
// keeps its name.
func TestRefusedReloadKeepsTheCounters(t *testing.T) {
	for name, gossip := range map[string]string{
		"ring and gossip": "gossip: {bind: \"127.0.0.1:0\", key_file: $KEY}\n",
		"ring alone":      "gossip: {key_file: $KEY}\n",
	} {
		t.Run(name, func(t *testing.T) {
			const clients = 250
			n := newReloadNode(t, gossip)
			n.count(clients)
			before := n.counters()
			n.write("cluster.key", strings.Repeat("x", 17))
			if _, err := n.Reload(); err == nil ||
				!strings.Contains(err.Error(), "gossip.key_file") {
				t.Errorf("a half-written key file: %v", err)
			}
			n.count(clients)
			after := n.counters()
			if !slices.Equal(before, after) {
				kept := slices.DeleteFunc(slices.Clone(after),
					func(s string) bool { return !slices.Contains(before, s) })
				t.Errorf("%d counters before, %d after; %d kept their names", len(before),
					len(after), len(kept))
			}
		})
	}
}

// A configuration that was read earlier never takes the place of one that was read later, nor does
// its failure.
func TestReloadsKeepTheirOrder(t *testing.T) {
	n := newReloadNode(t, "")
	earlier, later := n.begun.Add(1), n.begun.Add(1)
	with := func(names ...string) (p prepared) {
		for _, name := range names {
			p.cfg.Rules = append(p.cfg.Rules,
				mitigation.Rule{Name: name, Limit: 1, Window: time.Second})
		}
		return p
	}
	if err := cmp.Or(n.commit(later, with("a", "b")), n.commit(earlier, with("c"))); err != nil {
		t.Fatal(err)
	}
	n.refuse(earlier, errors.New("too late"))
	if rules := n.gate.Rules(); len(rules) != 2 || rules[0].Name != "a" {
		t.Errorf("in force: %v", rules)
	}
	if got := n.metric("headgate_config_last_reload_successful"); got != "1" {
		t.Errorf("the last reload that counts was good, shown %s", got)
	}
}

// metric returns the value of a metric without labels.
func (n *reloadNode) metric(name string) string {
	n.Helper()
	for line := range strings.Lines(n.ask(http.MethodGet, "/metrics", "").Body.String()) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	n.Fatalf("no %s", name)
	return ""
}

// answeredWithin is how long a command may take while a reload waits for a file.
const answeredWithin = time.Second

// While a reload reads a file that does not answer, operators' commands are answered, and the
// reload ends as it would have.
func TestCommandsDoNotWaitForAReload(t *testing.T) {
	n := newReloadNode(t, "")
	reading, answers := make(chan struct{}), make(chan struct{})
	n.prepare = func(file string, started *config.Config) (prepared, error) {
		close(reading)
		<-answers
		return prepare(file, started)
	}
	var reloading sync.WaitGroup
	reloading.Go(func() {
		if _, err := n.Reload(); err != nil {
			t.Errorf("the reload that waited: %v", err)
		}
	})
	<-reading
	for _, c := range []struct{ method, target, body string }{
		{"PUT", "/v1/mode", `{"mode":"off"}`},
		{"POST", "/v1/mitigations", `{"rule":"r","key":"a","action":"block"}`},
		{"POST", "/v1/mitigations", `{"rule":"r","key":"b","action":"allow"}`},
		{"DELETE", "/v1/mitigations?rule=r&key=a", ""},
	} {
		n.answered(c.method, c.target, c.body)
	}
	close(answers)
	reloading.Wait()
	if mode := n.gate.Rules()[0].Mode; mode != mitigation.Enforce {
		t.Errorf("mode %s after the reload, want the file's", mode)
	}
}

// answered makes a change, which must be done in time.
func (n *reloadNode) answered(method, target, body string) {
	n.Helper()
	status := make(chan int, 1)
	go func() { status <- n.ask(method, target, body).Code }()
	select {
	case got := <-status:
		if got/100 != 2 {
			n.Errorf("%s %s: status %d", method, target, got)
		}
	case <-time.After(answeredWithin):
		n.Errorf("%s %s: no answer within %v", method, target, answeredWithin)
	}
}

// ask asks the admin listener, with the token that is in the file.
func (n *reloadNode) ask(method, target, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(n.Context(), method, "http://127.0.0.1"+target,
		strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+n.token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	n.admin.ServeHTTP(w, r)
	return w
}
