package global

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// plantedBugs are changes of the source that the simulator must notice: one that it does not would
// be an invariant that does not bite. Those that it misses say why. That two witnesses are asked,
// and that a guard ends, is left to the tests of the coordinator: without a liar, and within a
// minute, nothing comes of either.
var plantedBugs = []struct{ name, file, is, becomes, missed string }{
	{
		"the others' counts include one's own", "mitigation/control/origins.go",
		"if other == o || other.name == o.alone", "if other.name == o.alone", "",
	},
	{
		"others' counts are passed on twice", "gossip/coordinator/advise.go",
		"l.merged.Raise(period, merged)", "_ = merged", "",
	},
	{
		"a node's own counts come back to it", "window/merge.go",
		"m.packing.unpack(total - d.base - d.Delta)\n\treturn",
		"m.packing.unpack(total - d.base)\n\treturn", "",
	},
	{
		"no ratio is ever in force", "gossip/coordinator/advise.go",
		"a.Ratio = c.ratio(now, l)", "a.Ratio = 0", "",
	},
	{"nodes that count alone report their PoP's rate", "window/remote.go", "st.rate, " +
		"st.admittedRate = 0, 0\n\t\tst.setQuiet(0)\n\t\tst.waits = " +
		"waitsOf(st.waits.failed(), 0)\n\t\tif past > 0 && past < 3*recent {", "if false " +
		"{", "rates deny nobody whose counts are below the limit; the tests of the window " +
		"fail"},
	{
		"a block is nobody else's business", "mitigation/control/aggregate.go",
		"a.blocked = max(a.blocked, now.Add(min(d.Blocked, a.rule.BlockFor)))", "",
		"within a run the counts refuse what the block would",
	},
	{
		"an override has no effect", "mitigation/judge.go",
		"return LetPass, Unrefused\n\tcase e.Action == Block",
		"return AskCount, Unrefused\n\tcase e.Action == Block", "",
	},
	{
		"the others' counts are not in the view", "mitigation/control/origins.go",
		"v.Others.Add(&other.totals)", "", "",
	},
	{
		"dead members are never joined again", "gossip/join.go",
		"dead = pick(dead, joinFan-len(seeds))", "dead, seeds = nil, nil", "",
	},
	{
		"remote counts are as old as their arrival", "window/remote.go",
		"m.begins(h.Period, wall)", "t.now", "",
	},
	{
		"the wall clock is the clock",
		"edge/pop/flusher.go",
		"Now: now, Wall: raw(now, wall) - p.heartbeat.offset()",
		"Now: window.Instant(wall.UnixNano()), Wall: -p.heartbeat.offset()",
		"the bound on attackers is wide while a clock is wrong, and rates deny nobody " +
			"whose counts are below the limit",
	},
	{
		"an excess counts as credit", "mitigation/control/trailing.go",
		"fits := (float64(a.rule.Limit) - stays)", "fits := (float64(a.rule.Limit) + stays)",
		"the window's own counts hold the limit; the tests of mitigation/control fail",
	},
	{
		"reports never expire", "mitigation/control/origins.go",
		"if age > max(silentAfter, o.report.TTL) {", "if age > 1000*silentAfter {",
		"rates deny nobody whose counts are below the limit",
	},
	{"a report expires after a tenth of its time", "mitigation/control/origins.go", "if age > " +
		"max(silentAfter, o.report.TTL) {", "if age > silentAfter/10 {", "counts hold the limit " +
		"while no report is taken to stand; the tests of the coordinator fail"},
}

// TestBugsCanBePlanted: the source says in one place what each bug changes, so that none of them is
// planted nowhere when the source has moved on.
func TestBugsCanBePlanted(t *testing.T) {
	t.Parallel()
	for _, bug := range plantedBugs {
		t.Run(bug.name, func(t *testing.T) {
			t.Parallel()
			if soil(t, bug.file, bug.is); bug.is == bug.becomes {
				t.Error("it changes nothing")
			}
		})
	}
}

// soil returns the path and the text of a source file, which says is once.
func soil(t *testing.T, file, is string) (path, source string) {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", file))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), is); n != 1 {
		t.Fatalf("%s says %q %d times: plant another bug", file, is, n)
	}
	return path, string(text)
}
