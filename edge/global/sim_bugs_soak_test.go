//go:build soak

package global

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// plantedBugs are changes of the source that the simulator must notice: one that it does not would
// be an invariant that does not bite. Those that it misses say why. That two witnesses are asked,
// and that a guard ends, is left to the tests of the coordinator: without a liar, and within a
// minute, nothing comes of either.
var plantedBugs = []struct{ name, file, is, becomes, missed string }{
	{"the others' counts include one's own", "mitigation/control/origins.go", "if other == o || other.name == o.alone", "if other.name == o.alone", ""},
	{"others' counts are passed on twice", "gossip/coordinator/advise.go", "l.merged.Raise(period, reported)", "_ = reported", ""},
	{"a node's own counts come back to it", "window/merge.go", "m.packing.unpack(total - d.base - d.Delta)\n\treturn", "m.packing.unpack(total - d.base)\n\treturn", ""},
	{"no ratio is ever in force", "gossip/coordinator/advise.go", "a.Ratio = c.ratio(l)", "a.Ratio = 0", ""},
	{"nodes that count alone report their PoP's rate", "window/remote.go", "st.debt, st.rate, st.admittedRate = 0, 0, 0\n\t\tst.setQuiet(0)\n\t\tst.late = 0\n\t\tif past > 0 && past < 3*recent {", "if false {", ""},
	{"a block is nobody else's business", "mitigation/control/aggregate.go", "a.blocked = max(a.blocked, now.Add(min(d.Blocked, a.rule.BlockFor)))", "", "within a run the counts refuse what the block would"},
	{"an override has no effect", "mitigation/judge.go", "return LetPass, Unrefused\n\tcase e.Action == Block", "return AskCount, Unrefused\n\tcase e.Action == Block", ""},
	{"the others' counts are not in the view", "mitigation/control/origins.go", "v.Others.Add(&other.totals)", "", ""},
	{"dead members are never joined again", "gossip/join.go", "dead = pick(dead, joinFan-len(seeds))", "dead, seeds = nil, nil", ""},
	{"a hint never expires", "gossip/coordinator/hint.go", "if w.until <= now {", "if w.until < 0 {", ""},
	{"remote counts are as old as their arrival", "window/remote.go", "m.begins(h.Period, wall)", "t.now", ""},
	{"the wall clock is the clock", "edge/pop/flusher.go", "Now: now, Wall: time.Duration(wall.UnixNano() - int64(now))", "Now: window.Instant(wall.UnixNano()), Wall: 0", "the bound on attackers is wide while a clock is wrong, and rates deny nobody whose counts are below the limit"},
	{"an excess counts as credit", "mitigation/control/trailing.go", "(leaves - a.excess())", "(leaves + a.excess())", ""},
	{"reports never expire", "mitigation/control/origins.go", "if age > max(silentAfter, o.report.TTL) {", "if age > 1000*silentAfter {", "rates deny nobody whose counts are below the limit"},
	{"a report expires after a tenth of its time", "mitigation/control/origins.go", "if age > max(silentAfter, o.report.TTL) {", "if age > silentAfter/10 {", ""},
}

// TestPlantedBugs runs the simulator on the source with one bug after the other.
func TestPlantedBugs(t *testing.T) {
	broken := regexp.MustCompile(`--- FAIL: Test(Simulator\w*).*\n\s+(.*\n.*)`)
	for _, bug := range plantedBugs {
		t.Run(bug.name, func(t *testing.T) {
			run := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-overlay", plant(t, bug.file, bug.is, bug.becomes), "-run", "^TestSimulator", ".")
			out, err := run.CombinedOutput()
			found := broken.FindStringSubmatch(string(out))
			switch {
			case err == nil && bug.missed != "":
				t.Logf("missed: %s", bug.missed)
			case err == nil:
				t.Errorf("not noticed")
			case found == nil:
				t.Errorf("something else broke:\n%s", out)
			default:
				t.Logf("%s: %s", found[1], found[2])
			}
		})
	}
}

// plant returns an overlay in which file says becomes where it says is.
func plant(t *testing.T, file, is, becomes string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", file))
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(source), is) != 1 {
		t.Fatalf("%s says %q %d times: plant another bug", file, is, strings.Count(string(source), is))
	}
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.go")
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: bad}})
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, "overlay.json")
	for name, text := range map[string][]byte{bad: []byte(strings.Replace(string(source), is, becomes, 1)), at: overlay} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return at
}
