package demo

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/cmd/headgate/clitest"
	"github.com/headgate-dev/headgate/edge/api"
)

// shownDemo is a demo whose figures are made up, to be told.
func shownDemo() (*demo, demoBoard, *Summary) {
	d := &demo{flags: demoFlags{duration: time.Minute, seed: 7}, load: newDemoLoad(demoStory{demoPhases, time.Minute}, 7), stage: &demoStage{}}
	d.load.attacker = []byte("198.51.100.7")
	for _, name := range demoPoPs {
		d.stage.pops = append(d.stage.pops, &demoPoP{
			name: name, node: name + "-1", udp: "127.0.0.1:20001", http: "127.0.0.1:20002", admin: "127.0.0.1:20003",
			ring: &demoRing{address: "127.0.0.1:20004", what: "stand-in", why: "memcached is not in PATH"},
		})
	}
	b := demoBoard{at: 21 * time.Second, length: time.Minute, phase: &demoPhases[2], share: 1.02, shares: []float64{1.3, 1.02, 0.5, 0, 1}}
	b.rows[0] = demoRow{attack: demoTally{asked: 1000, admitted: 340, refused: 660}, good: demoTally{asked: 200, admitted: 200}, ratio: 0.66, by: "self"}
	b.rows[1] = demoRow{attack: demoTally{asked: 500, admitted: 170, refused: 330}, good: demoTally{asked: 190, admitted: 189, refused: 1}, refused: 1, ratio: 0.66, by: "gossip:lhr"}
	b.whole = demoRow{attack: demoTally{asked: 1500, admitted: 510, refused: 990}, good: demoTally{asked: 390, admitted: 389, refused: 1}, refused: 1}
	settled := 0.25
	s := &Summary{
		Seed: 7, Seconds: 60, Complete: true, Rule: demoRule, Limit: demoLimit, Window: 1, Skipped: 2,
		PoPs: []demoPlace{{PoP: "lhr", Node: "lhr-1", Ring: d.stage.pops[0].ring.String(), Dashboard: d.stage.pops[0].dashboard()}},
		Attack: demoAttack{
			Key: "198.51.100.7", Rounds: 1, OfLimit: 1.004, demoCounts: demoCounts{72000, 24100, 47890, 10}, Seconds: 48,
			Settled: &settled, BySecond: []float64{1.07, 1, 0.99}, Outside: 1,
			Phases: []demoPhaseResult{
				{Phase: "start", PoPs: []string{"lhr"}, Seconds: 9, Asked: 6750, Admitted: 4545, OfLimit: 1.01, Least: 0.99, Most: 1.07, Settled: &settled},
				{Phase: "growth", PoPs: demoPoPs[:], Seconds: 15, Asked: 20625, Admitted: 6000, OfLimit: 0.8, Least: 0.7, Most: 0.9},
			},
		},
		Normal: demoNormal{Clients: 80, demoCounts: demoCounts{Asked: 36000, Admitted: 36000}},
		Words:  []demoWord{{PoP: "fra", Rule: demoRule, Key: "198.51.100.7", Action: "shed", Source: "gossip:lhr", First: 12.2, Last: 50, Ratio: 0.75}},
	}
	return d, b, s
}

// demoHappenings are what is told of it meanwhile. The key is one that would move the cursor.
func demoHappenings(to demoAudience, d *demo, b *demoBoard) {
	to.opens(d)
	to.phase(15*time.Second, &demoPhases[2])
	flag := api.MitigationView{Rule: demoRule, Key: clitest.HostileKey, Action: "shed", Ratio: 0.5, Source: "self"}
	to.news(demoNewsItem{15200 * time.Millisecond, "set", 0, flag})
	flag.Source = "gossip:lhr"
	to.news(demoNewsItem{15600 * time.Millisecond, "changed", 1, flag})
	to.news(demoNewsItem{16 * time.Second, "cleared", 1, flag})
	to.board(b)
	to.board(b)
	to.closes()
}

func TestDemoIsToldInLines(t *testing.T) {
	d, b, s := shownDemo()
	var out strings.Builder
	p := &demoPlain{w: &out}
	demoHappenings(p, d, &b)
	p.summary(s)
	clitest.CompareGolden(t, filepath.Join("testdata", "demo-plain.golden"), out.String())
}

func TestDemoIsDrawn(t *testing.T) {
	d, b, s := shownDemo()
	var out strings.Builder
	a := &app{cli.NewApp(&out, io.Discard)}
	demoHappenings(&demoScreen{a: a}, d, &b)
	got := out.String()
	if !strings.HasPrefix(got, cli.EnterScreen+cli.Home) || !strings.HasSuffix(got, cli.ClearBelow+cli.LeaveScreen) {
		t.Errorf("the screen is not taken and given back: %q", got)
	}
	_, page, _ := strings.Cut(strings.TrimSuffix(got, cli.LeaveScreen), cli.Home)
	page, _, _ = strings.Cut(page, cli.Home)
	page = strings.NewReplacer(cli.ClearLine, "", cli.ClearBelow, "", "\r", "").Replace(page)
	out.Reset()
	a.printDemo(s)
	clitest.CompareGolden(t, filepath.Join("testdata", "demo-screen.golden"), page+"\n----\n"+out.String())
}

func TestPlainValue(t *testing.T) {
	x := 1.5
	for _, c := range []struct {
		value any
		want  string
	}{
		{"lhr", "lhr"},
		{"", `""`},
		{"it moves", `"it moves"`},
		{`a"b`, `"a\"b"`},
		{"a=b", `"a=b"`},
		{"\x1b[2J\n", `\x1b[2J\x0a`},
		{1.0 / 3, "0.333"},
		{1500 * time.Millisecond, "1.50"},
		{&x, "1.50"},
		{(*float64)(nil), "none"},
		{true, "true"},
		{7, "7"},
	} {
		if got := plainValue(c.value); got != c.want {
			t.Errorf("%#v: %s, want %s", c.value, got, c.want)
		}
	}
}

// What the daemons say goes through, or waits, no more than so much of it.
func TestDemoSaid(t *testing.T) {
	var out strings.Builder
	s := &demoSaid{through: &out}
	_, _ = s.Write([]byte("one\n"))
	if out.String() != "one\n" {
		t.Errorf("through: %q", out.String())
	}
	s = &demoSaid{}
	for range demoSaidLines + 2 {
		_, _ = s.Write([]byte("bad\x1b[2J\n"))
	}
	out.Reset()
	s.end(&out)
	_, _ = s.Write([]byte("late\n"))
	s.end(&out)
	if want := strings.Repeat("bad\\x1b[2J\n", demoSaidLines) + "… and 2 lines more\n"; out.String() != want {
		t.Errorf("kept: %q", out.String())
	}
}

// What is new about a PoP's flags is told once, and by whose words it had them is remembered.
func TestDemoWatchCompares(t *testing.T) {
	w := newDemoWatch(newDemoLoad(demoStory{demoPhases, time.Minute}, 1), nil)
	key := string(w.load.attacker)
	flag := func(source string, ratio float64) []api.MitigationView {
		return []api.MitigationView{{Rule: demoRule, Key: key, Action: "shed", Source: source, Ratio: ratio}}
	}
	var told []string
	look := func(at int, flags []api.MitigationView) {
		for _, item := range w.compare(time.Duration(at)*time.Second, 1, flags) {
			told = append(told, item.change)
		}
	}
	look(1, flag("self", 0.3))
	look(2, flag("self", 0.6))
	if f, there := w.flag(1); !there || f.Ratio != 0.6 {
		t.Errorf("fra's flag: %+v, %v", f, there)
	}
	look(3, flag("gossip:lhr", 0.5))
	look(4, nil)
	look(5, nil)
	if got := strings.Join(told, " "); got != "set changed cleared" {
		t.Errorf("told %q", got)
	}
	want := []demoWord{
		{PoP: "fra", Rule: demoRule, Key: key, Action: "shed", Source: "self", First: 1, Last: 2, Ratio: 0.6},
		{PoP: "fra", Rule: demoRule, Key: key, Action: "shed", Source: "gossip:lhr", First: 3, Last: 3, Ratio: 0.5},
	}
	if got, _, _ := w.told(); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("words %+v", got)
	}
	if _, there := w.flag(1); there {
		t.Error("a flag that is cleared is still shown")
	}
	for n := range demoWords {
		w.note(0, 0, api.MitigationView{Key: strings.Repeat("x", n)})
	}
	if words, unkept, missed := w.told(); len(words) != demoWords || unkept != 2 || missed != 0 {
		t.Errorf("%d words, %d not kept, %d looks missed", len(words), unkept, missed)
	}
}

// A look that comes to nothing is counted, unless it was broken off at the end.
func TestDemoWatchMisses(t *testing.T) {
	client, err := cli.NewClient("127.0.0.1:1", "")
	if err != nil {
		t.Fatal(err)
	}
	w := newDemoWatch(newDemoLoad(demoStory{demoPhases, time.Minute}, 1), []*demoPoP{{client: client}})
	ctx, end := context.WithCancel(t.Context())
	for want := 1; want <= 2; want++ {
		if w.look(ctx, 0); w.missed != want {
			t.Errorf("%d missed, want %d", w.missed, want)
		}
	}
	end()
	if w.look(ctx, 0); w.missed != 2 {
		t.Errorf("after the end: %d missed, want 2", w.missed)
	}
}

// What is told at a time is the phase, once, and how it stands, twice a second, to the end and not beyond.
func TestDemoTurns(t *testing.T) {
	d, _, _ := shownDemo()
	var out strings.Builder
	d.audience, d.watch, d.record = &demoPlain{w: &out}, newDemoWatch(d.load, d.stage.pops), newDemoRecord(d.load)
	is := demoTold{phase: -1}
	for _, at := range []time.Duration{0, 100, 600, 1100, 1200, 4800, 5900, 59900, 60000, 61000} {
		d.turn(at*time.Millisecond, &is)
	}
	var told []string
	for line := range strings.Lines(out.String()) {
		switch words := strings.Fields(line); {
		case words[0] == "phase":
			told = append(told, clitest.Field(line, "name"))
		case strings.Contains(line, "pop=all"):
			told = append(told, clitest.Field(line, "t"))
		}
	}
	if got, want := strings.Join(told, " "), "calm 1.10 start 4.80 5.90 end 59.90"; got != want {
		t.Errorf("told %s, want %s", got, want)
	}
}
