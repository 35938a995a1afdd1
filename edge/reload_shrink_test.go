package edge_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

// TestReloadRefusesAShrunkenSet: a file that lost more than half of its entries is refused as any
// fault is, with both numbers, and the old entries stay in force; by force, or where the set allows
// it, the file is taken.
func TestReloadRefusesAShrunkenSet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string, n int, line string) {
		t.Helper()
		text := ""
		for i := range n {
			text += fmt.Sprintf(line, i)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	config := fmt.Sprintf(`rules: []
sets:
  plans: {table_file: %[1]s/plans.csv}
  tor: {cidr_file: %[1]s/tor.txt, allow_shrink: true}
  few: {cidr_file: %[1]s/few.txt}
policies:
  - {name: tor, match: {client: "@tor"}, deny: 403}
  - {name: few, match: {client: "@few"}, deny: 404}
  - name: api
    match: {path: /api}
    key: header.x-key@plans | client
    limit: {gold: 1000, free: 1}
    window: 1h
    tiers: {of: header.x-key, table: "@plans", default: free}
`, dir)
	write("plans.csv", 1200, "k%d,gold\n")
	write("tor.txt", 20, "192.0.2.%d\n")
	write("few.txt", 9, "198.51.100.%d\n")
	r, _ := startFile(t, config)
	reload := func(query, want string) {
		t.Helper()
		if got := r.change("POST", "/v1/reload"+query, "{}"); !strings.Contains(got, want) {
			t.Errorf("reload%s: %s\nwant %s", query, got, want)
		}
	}
	gold := func(key string, want bool) {
		t.Helper()
		r.send("ask path=/api client=203.0.113.1 header.x-key=" + key)
		got := r.send("ask path=/api client=203.0.113.1 header.x-key=" + key)
		if is := strings.Contains(got, "rule=api@gold"); is != want {
			t.Errorf("%s is gold: %v: %s", key, is, got)
		}
	}
	reload("", `200 {"rules":2}`)
	write("plans.csv", 1198, "k%d,gold\n")
	write("tor.txt", 1, "192.0.2.%d\n")
	write("few.txt", 0, "198.51.100.%d\n")
	reload("", `"sets":[{"name":"few","before":9,"after":0},{"name":"plans","before":1200,`+
		`"after":1198},{"name":"tor","before":20,"after":1}]`)
	for _, n := range []int{0, 598} {
		write("plans.csv", n, "k%d,gold\n")
		reload("", fmt.Sprintf("set plans: %s/plans.csv has %d entries and had 1,198; --force "+
			"or allow_shrink: true takes it", dir, n))
		gold("k1000", true)
	}
	write("plans.csv", 599, "k%d,gold\n") // just the half
	reload("", `"sets":[{"name":"plans","before":1198,"after":599}]`)
	write("plans.csv", 1, "k%d,gold\n")
	reload("?force=0", "set plans: ")
	reload("?force=2", "force")
	reload("?force=1", `"sets":[{"name":"plans","before":599,"after":1}]`)
	gold("k1000", false)
	gold("k0", true)
}

// TestWatchedSets: a watched file is read when it has changed and rests, alone; one that shrank is
// a fault of the node until it is whole again, and a switch made by hand stays.
func TestWatchedSets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string, from, to int) {
		t.Helper()
		text := ""
		for i := from; i < to; i++ {
			text += fmt.Sprintf("192.0.2.%d\n", i)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("bad.txt", 0, 20)
	write("still.txt", 100, 120)
	r, put := startFile(t, fmt.Sprintf(`rules: []
sets:
  bad: {cidr_file: %[1]s/bad.txt, watch: 1s}
  still: {cidr_file: %[1]s/still.txt}
policies:
  - {name: bad, match: {client: "@bad"}, deny: 403}
  - {name: still, match: {client: "@still"}, deny: 404}
  - {name: api, match: {path: /api}, key: all, limit: 1, window: 1h}
`, dir))
	becomes := func(client, want string) {
		t.Helper()
		edgetest.Await(t, client+" is "+want, edgetest.Patience, func() bool {
			return strings.HasPrefix(r.send("ask path=/ client="+client), want)
		})
	}
	faults := func(want string) {
		t.Helper()
		edgetest.Await(t, want, edgetest.Patience, func() bool {
			return strings.Contains(strings.Join(r.faults("set-shrunk"), "\n"), want)
		})
	}
	becomes("192.0.2.1", "deny why=policy status=403")
	r.change("PUT", "/v1/mode", `{"mode":"shadow","policy":"api"}`)
	write("bad.txt", 10, 40)
	write("still.txt", 0, 0)
	becomes("192.0.2.30", "deny why=policy status=403")
	becomes("192.0.2.1", "allow")
	becomes("192.0.2.110", "deny why=policy status=404") // its file waits for a reload
	for range 3 {
		r.says("ask path=/api client=198.51.100.1", `allow why=shadow .*`) // still
	}
	write("bad.txt", 0, 3)
	faults("set bad: " + dir + "/bad.txt has 3 entries and had 30: the old ones stay")
	becomes("192.0.2.30", "deny why=policy status=403")
	if err := os.Remove(filepath.Join(dir, "bad.txt")); err != nil {
		t.Fatal(err)
	}
	faults("no such file")
	write("bad.txt", 50, 80)
	becomes("192.0.2.60", "deny why=policy status=403")
	r.faults() // none
	// by force once, and not at the next look
	r.change("POST", "/v1/reload?force=1", "{}")
	write("bad.txt", 0, 3)
	faults("has 3 entries and had 30")
	put("rules: []\n")
	becomes("192.0.2.60", "allow")
}
