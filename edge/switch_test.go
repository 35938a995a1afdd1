package edge_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const switchConfig = `
rules:
  - {name: named, limit: 1, window: 1h}
  - {name: ours, limit: 1, window: 1h}
sets: {plans: {table_file: %q}}
pools: [{name: workers, order: [normal]}]
policies:
  - {name: office, match: {path: /deny, client: 192.0.2.0/24}, skip: all}
  - {name: closed, match: {path: /deny}, deny: 403}
  - {name: dark, match: {path: /dark}, key: all, limit: 1, window: 1h, mode: shadow}
  - {name: busy, match: {path: /busy}, pool: workers}
  - name: tiers
    match: {path: /tiers}
    key: all
    limit: {free: 1, gold: 1}
    window: 1h
    tiers: {of: header.x-plan, table: "@plans", default: free}
  - {name: one, match: {path: /one}, rules: [ours]}
  - {name: two, match: {path: /two}, rules: [ours]}
`

// change sends a change to the admin listener and returns the status and the body.
func (r *running) change(method, path, body string) string {
	r.Helper()
	q, err := http.NewRequest(method, "http://"+r.node.Addresses().Admin[0].String()+path,
		strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	is, err := http.DefaultClient.Do(q)
	if err != nil {
		r.Fatal(err)
	}
	defer is.Body.Close() //nolint:errcheck // only read from
	all, _ := io.ReadAll(is.Body)
	return fmt.Sprint(is.StatusCode, " ", string(all))
}

// TestSwitches: a switch without a name reaches everything that denies, in both directions, and
// takes itself back; one with a name reaches a rule with its policy, a policy with all its rules,
// or a pool. The files of sets may be gone meanwhile.
func TestSwitches(t *testing.T) {
	t.Parallel()
	plans := filepath.Join(t.TempDir(), "plans")
	if err := os.WriteFile(plans, []byte("k,gold\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := startAt(t, allDoors, fmt.Sprintf(switchConfig, plans))
	if err := os.Remove(plans); err != nil {
		t.Fatal(err)
	}
	r.says("load workers 1", "ok")
	paths := []string{"/deny", "/dark", "/busy", "/tiers", "/tiers header.x-plan=k", "/one"}
	for _, path := range paths {
		r.send("ask path=" + path)
	}
	r.send("check named k")
	const limit, dark, noted = "deny why=limit .*", "allow why=shadow .*",
		"allow why=none shadow=deny"
	const shadow, pass = "allow why=shadow view=node shadow=deny", "allow why=none"
	asFile := [...]string{
		"deny why=policy status=403", shadow, "(allow .*|deny why=load .*)", limit, limit, limit,
	}
	silenced := [...]string{
		noted, shadow, "allow why=none( shadow=deny)?", shadow, shadow, shadow,
	}
	says := func(when string, answers ...string) {
		t.Helper()
		for i, want := range answers {
			r.send("ask path=" + paths[i]) // who leaves shadow begins anew
			if r.says("ask path="+paths[i], want); t.Failed() {
				t.Fatal(when)
			}
		}
	}
	put := func(body, want string) {
		t.Helper()
		if got := r.change("PUT", "/v1/mode", body); !strings.HasPrefix(got, want) {
			t.Fatalf("%s: %s, want %s", body, got, want)
		}
	}
	says("at the start", asFile[:]...)
	put(`{"mode":"off"}`, "204")
	says("off", pass, pass, pass, pass, pass, pass)
	r.says("check named k", "allow remaining=1 .*")
	put(`{"mode":"shadow"}`, "204")
	says("in shadow", silenced[:]...)
	r.says("ask path=/deny client=192.0.2.1", "allow why=none shadow=deny")
	put(`{"mode":"enforce"}`, "204")
	says("taken back", asFile[:]...)
	put(`{"mode":"enforce","rule":"dark"}`, "204")
	says("a policy's own rule", asFile[0], limit)
	put(`{"mode":"shadow","policy":"closed"}`, "204")
	says("a policy that denies", noted, limit)
	put(`{"mode":"off","policy":"tiers"}`, "204")
	says("all tiers", noted, limit, asFile[2], pass, pass, limit)
	put(`{"mode":"shadow","rule":"tiers@gold"}`, "204")
	says("a tier", noted, limit, asFile[2], pass, dark)
	put(`{"mode":"off","pool":"workers"}`, "204")
	for range 50 {
		r.says("ask path=/busy", "allow why=none")
	}
	put(`{"mode":"shadow","policy":"one"}`, `400 {"type":"about:blank","title":"Bad Request"`)
	put(`{"mode":"off","policy":"nosuch"}`, "404")
	put(`{"mode":"off","pool":"nosuch"}`, "404")
	put(`{"mode":"off","rule":"nosuch"}`, "404")
	put(`{"mode":"off","rule":"dark","pool":"workers"}`, "400")
	put(`{"mode":"shadow","rule":"ours"}`, "204")
	says("a shared rule", noted, limit, asFile[2], pass, dark, shadow)
	put(`{"mode":"enforce"}`, "204")
	says("all taken back", asFile[:]...)
}
