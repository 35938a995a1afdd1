package edge

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/edge/surge"
	"github.com/headgate-dev/headgate/window"
)

// surgeNode is a node that does not run, whose watch lives in virtual time.
type surgeNode struct {
	testing.TB
	*Node
	file string
	said *edgetest.Log
	at   int64
}

func newSurgeNode(t testing.TB, file, more string) *surgeNode {
	t.Helper()
	n := &surgeNode{TB: t, file: file, said: &edgetest.Log{}}
	n.configure(more)
	var err error
	n.Node, err = New(t.Context(), Options{
		File: file, Log: slog.New(slog.NewTextHandler(n.said, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	n.at = int64(n.gate.Now())
	return n
}

func (n *surgeNode) configure(more string) {
	n.Helper()
	if err := os.MkdirAll(filepath.Dir(n.file), 0o700); err != nil {
		n.Fatal(err)
	}
	if err := os.WriteFile(n.file, []byte("memory: 16MiB\nstate_dir: "+filepath.Dir(n.file)+
		"\nlisten: {udp: '127.0.0.1:0', http: [], admin: '127.0.0.1:0'}\nrules: []\n"+more),
		0o600); err != nil {
		n.Fatal(err)
	}
}

// offer offers requests of many clients to the watch, with the header odd where it is not "".
func (n *surgeNode) offer(requests int, odd string) {
	n.Helper()
	var r request.Request
	clients := request.DefaultClients()
	for i := range requests {
		r.Reset(nil)
		r.Sample = true
		var f request.Reader
		f.Begin(&r, &clients, netip.Addr{})
		f.Target(fmt.Append(nil, "/page/", i%50))
		f.Header([]byte("User-Agent"), fmt.Append(nil, "browser/", i%7))
		if odd != "" {
			f.Header([]byte(odd), []byte("1"))
		}
		f.Client(netip.AddrFrom4([4]byte{10, byte(i >> 8), byte(i), 7}))
		f.End()
		n.surges.watch.Keep(&r, n.at, 0, false)
	}
}

// attack has the watch learn, and then find an attack of requests with the header odd.
func (n *surgeNode) attack(odd string) api.SurgeFinding {
	n.Helper()
	for range 4 {
		if n.Surge().State != surge.Learning {
			break
		}
		n.offer(400, "")
		n.surges.watch.Look(n.at, false)
		n.at += int64(20 * time.Second)
	}
	n.offer(400, odd)
	n.surges.watch.LookAgain(n.at)
	n.at += int64(20 * time.Second)
	v := n.Surge()
	if v.State != string(surge.Attack) || v.Findings[0].Policy == "" {
		n.Fatalf("%+v", v)
	}
	return v.Findings[0]
}

// visit asks whether a request passes.
func (n *surgeNode) visit(odd string) *ask.Answer {
	n.Helper()
	s := n.room.NewSession()
	b := n.gate.Lane(0).Batch(window.Instant(n.at), func() uint64 { return 1 << 63 })
	defer b.End()
	f := s.Read(netip.Addr{})
	f.Target([]byte("/page/1"))
	f.Header([]byte(odd), []byte("1"))
	f.Client(netip.MustParseAddr("192.0.2.1"))
	f.End()
	a := *s.Decide(&b, window.Instant(n.at), 1)
	return &a
}

const applyFor = "surge: {learn: 10s, min_rate: 1}\n"

// TestSurgeIsApplied: a finding's policy counts in shadow, denies when it is enforced, and stays
// over a reload and a restart until it is undone.
func TestSurgeIsApplied(t *testing.T) {
	file := filepath.Join(t.TempDir(), "headgate.yaml")
	n := newSurgeNode(t, file, applyFor)
	is := n.attack("x-a")
	if a := n.visit("x-a"); a.Deny || a.Shadow {
		t.Fatalf("before: %+v", a)
	}
	v, p := n.ApplySurge(api.SurgeApply{ID: is.ID, By: "ann"})
	if p != nil || v.Name != "surge-"+is.ID || v.Mode != "shadow" ||
		time.Until(v.Until) < 29*time.Minute {
		t.Fatal(v, p)
	}
	if a := n.visit("x-a"); a.Deny || !a.Shadow || a.Trial != v.Name {
		t.Fatalf("in shadow: %+v", a)
	}
	if a := n.Surge().Findings[0].Applied; a == nil || a.Matched != 1 || a.Denied != 1 ||
		a.Mode != "shadow" || a.By != "ann" {
		t.Fatalf("%+v", a)
	}
	if _, p = n.ApplySurge(api.SurgeApply{ID: is.ID, Mode: "enforce", For: "1h"}); p != nil {
		t.Fatal(p)
	}
	denied := func(when string) {
		t.Helper()
		if a := n.visit("x-a"); !a.Deny || a.Why != ask.ByPolicy || a.Policy != v.Name ||
			a.Status != 429 {
			t.Fatalf("%s: %+v", when, a)
		}
		if a := n.visit("x-b"); a.Deny {
			t.Fatalf("%s: another: %+v", when, a)
		}
	}
	denied("enforced")
	n.configure(applyFor + "policies: [{name: x, match: {path: /x}, limit: 1, window: 1s}]\n")
	if _, err := n.Reload(); err != nil {
		t.Fatal(err)
	}
	denied("after a reload")
	if p := n.Switch("", "", 1); p != nil { // all in shadow
		t.Fatal(p)
	}
	if a := n.visit("x-a"); a.Deny {
		t.Errorf("under the kill switch: %+v", a)
	}
	_ = n.Switch("", "", 0)
	if p := n.Switch("policy", v.Name, 1); p == nil || !strings.Contains(p.Detail, "surge apply") {
		t.Error(p)
	}
	n.keepUsual()
	before := n
	n = newSurgeNode(t, file, applyFor)
	denied("after a restart")
	if f := n.Surge().Findings; len(f) != 1 || f[0].ID != is.ID || f[0].Applied == nil ||
		f[0].Sentence != before.Surge().Findings[0].Sentence {
		t.Errorf("after a restart: %+v", f)
	}
	if s := n.Surge().State; s == surge.Learning { // 512 rows are known
		t.Errorf("after a restart: %s", s)
	}
	if p := n.UndoSurge(is.ID, "ann"); p != nil {
		t.Fatal(p)
	}
	if a := n.visit("x-a"); a.Deny {
		t.Errorf("undone: %+v", a)
	}
	if p := n.UndoSurge(is.ID, "ann"); p == nil || p.Status != 404 {
		t.Error(p)
	}
	var said []string
	for _, e := range append(before.SurgeEvents(), n.SurgeEvents()...) {
		said = append(said, e.Kind+" "+e.Applied)
	}
	if got := strings.Join(said, "|"); got != "attack |attack shadow|attack enforce|attack undone" {
		t.Error(got)
	}
}

// TestSurgeIsRejected: what cannot be applied says why, and changes nothing.
func TestSurgeIsRejected(t *testing.T) {
	n := newSurgeNode(t, filepath.Join(t.TempDir(), "headgate.yaml"), applyFor)
	is := n.attack("x-a")
	for _, c := range []struct {
		api.SurgeApply
		status int
		says   string
	}{
		{api.SurgeApply{ID: "ffffff"}, 404, "there is no finding"},
		{api.SurgeApply{ID: is.ID, Mode: "off"}, 400, "shadow or enforce"},
		{api.SurgeApply{ID: is.ID, For: "59s"}, 400, "1m to 24h"},
		{api.SurgeApply{ID: is.ID, For: "25h"}, 400, "1m to 24h"},
		{api.SurgeApply{ID: is.ID, For: "soon"}, 400, "1m to 24h"},
	} {
		if _, p := n.ApplySurge(c.SurgeApply); p == nil || p.Status != c.status ||
			!strings.Contains(p.Detail, c.says) {
			t.Errorf("%+v: %+v", c.SurgeApply, p)
		}
	}
	n.configure(applyFor + "policies: [{name: surge-" + is.ID + ", match: {path: /x}, deny: 403}]")
	if _, err := n.Reload(); err != nil {
		t.Fatal(err)
	}
	if _, p := n.ApplySurge(api.SurgeApply{ID: is.ID, All: true}); p == nil || p.Status != 409 {
		t.Error(p)
	}
	all := n.gate.Policies(n.gate.Now())
	if len(all) != 1 || all[0].InForce(time.Now().UnixMilli()) {
		t.Errorf("for the others: %+v", all)
	}
	if v := n.Surge(); len(v.Applied) > 0 || v.Findings[0].Applied != nil {
		t.Errorf("%+v", v)
	}
}

// TestMostApplied: eight policies of findings are in force at once.
func TestMostApplied(t *testing.T) {
	n := newSurgeNode(t, filepath.Join(t.TempDir(), "headgate.yaml"), applyFor)
	for i := range maxApplied + 1 {
		is := n.attack(fmt.Sprint("x-", i))
		_, p := n.ApplySurge(api.SurgeApply{ID: is.ID})
		if (p != nil) != (i == maxApplied) || p != nil && p.Status != 409 {
			t.Fatalf("%d: %v", i, p)
		}
	}
}

// TestUntil: a policy matches until its time, to the millisecond, in a file and of a finding.
func TestUntil(t *testing.T) {
	n := newSurgeNode(t, filepath.Join(t.TempDir(), "headgate.yaml"), applyFor)
	at := time.Now().Add(700 * time.Millisecond)
	n.configure(fmt.Sprintf("%spolicies: [{name: over, match: {}, deny: 404, until: "+
		"2026-01-01T00:00:00Z}, {name: now, match: {}, deny: 403, until: %q}]\n", applyFor,
		at.UTC().Format(time.RFC3339Nano)))
	if _, err := n.Reload(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var watch sync.WaitGroup
	watch.Go(func() { n.watchSurge(ctx) })
	defer watch.Wait()
	defer stop()
	for {
		a, now := n.visit("x-a"), time.Now()
		if now.Before(at) && a.Status != 403 {
			t.Fatalf("%s before: %+v", at.Sub(now), a)
		}
		if !a.Deny {
			return
		}
		if now.After(at.Add(edgetest.Patience)) {
			t.Fatalf("%s later: %+v", now.Sub(at), a)
		}
	}
}

// TestSurgeAnswer: the answer of /v1/surge has the members that it promises, in every state.
func TestSurgeAnswer(t *testing.T) {
	n := newSurgeNode(t, filepath.Join(t.TempDir(), "headgate.yaml"), applyFor)
	paths := func() string {
		t.Helper()
		text, err := json.Marshal(n.Surge())
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		}
		var all []string
		var walk func(at string, v any)
		walk = func(at string, v any) {
			switch v := v.(type) {
			case map[string]any:
				for name, below := range v {
					walk(at+"."+name, below)
				}
				return
			case []any:
				if len(v) > 0 {
					walk(at+"[]", v[0])
					return
				}
			}
			all = append(all, strings.TrimPrefix(at, "."))
		}
		walk("", v)
		slices.Sort(all)
		return strings.Join(all, " ")
	}
	const always = "rate.now rate.usual sample.rows sample.share since state"
	if got := paths(); got != "findings learning.ready_in learning.rows "+always {
		t.Error(got)
	}
	is := n.attack("x-a")
	const finding = "findings[].applied findings[].begun findings[].clients.at_least " +
		"findings[].conditions[].field findings[].conditions[].is findings[].excess.rate " +
		"findings[].excess.share_high findings[].excess.share_low findings[].id findings[].kind " +
		"findings[].networks.at_least findings[].over findings[].policy findings[].seen " +
		"findings[].sentence findings[].signs[] findings[].usual_share.at_most " +
		"findings[].usual_share.rows learning.ready_in learning.rows "
	if got := paths(); got != finding+always {
		t.Error(got)
	}
	if _, p := n.ApplySurge(api.SurgeApply{ID: is.ID}); p != nil {
		t.Fatal(p)
	}
	const applied = "findings[].applied.all findings[].applied.by findings[].applied.denied " +
		"findings[].applied.matched findings[].applied.mode findings[].applied.until "
	if got, want := paths(), strings.Replace(finding, "findings[].applied ", applied, 1)+
		always; got != want {
		t.Error(got)
	}
	text := "rules: []\npolicies:\n" + is.Policy
	if c, err := config.Parse("x", []byte(text)); err != nil ||
		time.Until(c.Policies.Policies[0].Until) < 29*time.Minute {
		t.Errorf("%v\n%s", err, text)
	}
}
