package screen_test

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/cmd/headgate/clitest"
	"github.com/headgate-dev/headgate/cmd/headgate/demo/screen"
	"github.com/headgate-dev/headgate/cmd/headgate/demo/story"
	"github.com/headgate-dev/headgate/edge/api"
)

const attacker = "198.51.100.7"

// opening is a demo of a minute.
func opening() *screen.Opening {
	o := &screen.Opening{
		Seed: 7, Duration: time.Minute, Round: time.Minute,
		Clients: 80, Attacker: attacker,
	}
	for n, name := range story.PoPs {
		o.PoPs = append(o.PoPs, screen.PoP{
			Name: name, City: story.Cities[n], Node: name + "-1", UDP: "127.0.0.1:20001",
			HTTP: "127.0.0.1:20002", Admin: "127.0.0.1:20003",
			Dashboard: "http://127.0.0.1:20003/", Ring: "memcached 1.6.18 127.0.0.1:20004",
		})
	}
	return o
}

// board is the state in the growth phase.
func board() *screen.Board {
	b := &screen.Board{At: 41 * time.Second, Phase: 2, Share: 1.02}
	b.Rows[0] = screen.Row{
		Attack: story.Tally{Asked: 1000, Admitted: 340, Denied: 660},
		Normal: story.Tally{Asked: 200, Admitted: 200},
		Action: "shed", Ratio: 0.66, Source: "self",
	}
	b.Rows[1] = screen.Row{
		Attack: story.Tally{Asked: 500, Admitted: 170, Denied: 330},
		Normal: story.Tally{Asked: 190, Admitted: 189, Denied: 1},
		Denied: 1, Action: "shed", Ratio: 0.66, Source: "gossip:lhr",
	}
	b.Whole = screen.Row{
		Attack: story.Tally{Asked: 1500, Admitted: 510},
		Normal: story.Tally{Asked: 390, Admitted: 389}, Denied: 1,
	}
	for second := range 41 {
		switch {
		case second < 5:
			b.Admitted, b.Offered = append(b.Admitted, 0), append(b.Offered, 0)
		case second == 5:
			b.Admitted, b.Offered = append(b.Admitted, 1.9), append(b.Offered, 1.9)
		default:
			b.Admitted = append(b.Admitted, 1+0.08*math.Sin(float64(second)))
			b.Offered = append(b.Offered, 1.5+float64(second)/16)
		}
	}
	return b
}

// audience is either display.
type audience interface {
	Open(o *screen.Opening)
	Phase(at time.Duration, p *story.Phase)
	Change(c screen.Change)
	Board(b *screen.Board)
	Close()
}

// play shows an audience a part of a demo. The key is one that would move the cursor.
func play(to audience) {
	to.Open(opening())
	to.Phase(15*time.Second, &story.Phases[2])
	m := api.MitigationView{
		Rule: story.Rule, Key: clitest.HostileKey, Action: "shed",
		Ratio: 0.5, Source: "self",
	}
	to.Change(screen.Change{At: 15200 * time.Millisecond, Kind: "set", PoP: 0, Mitigation: m})
	m.Source = "gossip:lhr"
	to.Change(screen.Change{At: 15600 * time.Millisecond, Kind: "changed", PoP: 1, Mitigation: m})
	to.Change(screen.Change{At: 16 * time.Second, Kind: "cleared", PoP: 1, Mitigation: m})
	to.Board(board())
	to.Board(board())
	to.Close()
}

// summary is the result of a demo.
func summary() *story.Summary {
	settled := 0.25
	return &story.Summary{
		Seed: 7, Seconds: 60, Complete: true, Rule: story.Rule, Limit: story.Limit,
		Window: 1, Skipped: 2,
		PoPs: []story.Place{{
			PoP: "lhr", Node: "lhr-1",
			Ring: "stand-in 127.0.0.1:20004 (memcached is not in PATH)",
		}},
		Attack: story.Attack{
			Key: attacker, Rounds: 1, OfLimit: 1.004, Seconds: 48, Settled: &settled,
			BySecond: []float64{1.07, 1, 0.99}, Outside: 1,
			Counts: story.Counts{Asked: 72000, Admitted: 24100, Denied: 47890, Unanswered: 10},
			Phases: []story.PhaseResult{
				{
					Phase: "start", PoPs: []string{"lhr"}, Seconds: 9, Asked: 6750, Admitted: 4545,
					OfLimit: 1.01, Least: 0.99, Most: 1.07, Settled: &settled,
				},
				{
					Phase: "growth", PoPs: story.PoPs[:], Seconds: 15, Asked: 20625, Admitted: 6000,
					OfLimit: 0.8, Least: 0.7, Most: 0.9, Delay: 0.015,
				},
				{
					Phase: "spread", PoPs: story.PoPs[:], Seconds: 0.8, Asked: 1600,
					Admitted: 400, OfLimit: 1,
				},
			},
		},
		Normal: story.Normal{Clients: 80, Counts: story.Counts{Asked: 36000, Admitted: 36000}},
		Mitigations: []story.Mitigation{
			{
				PoP: "fra", Rule: story.Rule, Key: attacker, Action: "shed", Source: "gossip:lhr",
				First: 12.2, Last: 50, Ratio: 0.75,
			},
			{
				PoP:    "lhr",
				Rule:   story.Rule,
				Key:    attacker,
				Action: "shed",
				Source: "ring",
				First:  13,
				Last:   14,
				Ratio:  0.5,
			},
			{
				PoP: "lhr", Rule: story.Rule, Key: attacker, Action: "block", Source: "manual:ann",
				First: 20, Last: 21, Ratio: 1,
			},
		},
	}
}

func golden(name string) string { return filepath.Join("testdata", name+".golden") }

func TestLines(t *testing.T) {
	var out strings.Builder
	l := &screen.Lines{W: &out}
	play(l)
	l.Summary(summary())
	clitest.CompareGolden(t, golden("lines"), out.String())
}

// Values of a line are quoted where a script would split them, and are safe on a terminal.
func TestLinesQuote(t *testing.T) {
	for text, want := range map[string]string{
		"lhr": "lhr", "": `""`, "it " +
			"moves": `"it moves"`, `a"b`: `"a\"b"`, "a=b": `"a=b"`, "\x1b[2J\n": `\x1b[2J\x0a`,
	} {
		var out strings.Builder
		(&screen.Lines{W: &out}).Phase(1500*time.Millisecond, &story.Phase{Name: "end", Text: text})
		if got, want := out.String(),
			"phase t=1.50 name=end attack_at=nowhere text="+want+"\n"; got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestSummary(t *testing.T) {
	var out strings.Builder
	l := screen.NewLive(cli.NewApp(&out, io.Discard))
	l.Summary(summary())
	fmt.Fprintln(&out, "----")
	l.Summary(&story.Summary{Seed: 1, Seconds: 0.2, Limit: story.Limit, Skipped: 1})
	clitest.CompareGolden(t, golden("summary"), out.String())
}

// drawn is a screen on which a part of a demo was shown.
func drawn(out io.Writer) *screen.Live {
	l := screen.NewLive(cli.NewApp(out, io.Discard))
	play(l)
	return l
}

// The screen is taken, drawn from its first row, and given back.
func TestLiveTakesTheScreen(t *testing.T) {
	var out strings.Builder
	drawn(&out)
	got := out.String()
	if !strings.HasPrefix(got, cli.EnterScreen+cli.Home) ||
		!strings.HasSuffix(got, cli.ClearBelow+cli.LeaveScreen) {
		t.Errorf("%q", got)
	}
}

func TestLivePages(t *testing.T) {
	l := drawn(io.Discard)
	for _, size := range [][2]int{{80, 24}, {160, 50}} {
		clitest.CompareGolden(t, golden(fmt.Sprintf("%dx%d", size[0], size[1])),
			l.Page(size[0], size[1]))
	}
	for line := range strings.Lines(l.Page(80, 24)) {
		if width := len([]rune(strings.TrimSuffix(line, "\n"))); width > 80 &&
			!strings.Contains(line, `\x1b`) {
			t.Errorf("a line of %d characters: %s", width, line)
		}
	}
	if l.Page(0, 0) != l.Page(80, 24) {
		t.Error("a terminal of unknown size is not taken as 80x24")
	}
}

// In every size the page fits, keeps the figures and the keys, and uses the rows there are.
func TestLiveFits(t *testing.T) {
	l := drawn(io.Discard)
	for n := range 40 {
		l.Phase(time.Duration(n)*time.Second, &story.Phases[2])
	}
	for rows := 2; rows < 80; rows++ {
		for _, columns := range []int{60, 80, 100, 160, 240} {
			page := l.Page(columns, rows)
			lines := strings.Count(page, "\n")
			if lines >= rows || rows >= 10 && rows <= 53 && lines < rows-2 {
				t.Errorf("%dx%d: %d lines", columns, rows, lines)
			}
			if has := strings.Contains(page, "\nall "); has != (rows >= 9) {
				t.Errorf("%dx%d: the table is whole: %v", columns, rows, has)
			}
			if !strings.Contains(page, "q quit   p pause\n") {
				t.Errorf("%dx%d: no keys", columns, rows)
			}
			for part, from := range map[string]int{
				"100 % ┤": 16, "data centres": 23,
				"headgate top": 32, "requests sent": 39,
			} {
				if has := strings.Contains(page, part); has != (rows >= from) {
					t.Errorf("%dx%d: %q is shown: %v", columns, rows, part, has)
				}
			}
		}
	}
}

// A chart is as wide as its terminal allows and never wider.
func TestLiveCharts(t *testing.T) {
	l := drawn(io.Discard)
	for columns, want := range map[int]string{
		60:  "      └0s────────10s───────20s───────30s───────40s───────50s",
		160: "      └0s───────────5s───────────10s──────────15s─",
	} {
		found := false
		for line := range strings.Lines(l.Page(columns, 50)) {
			found = found || strings.HasPrefix(line, want)
			if width := len([]rune(strings.TrimSuffix(line, "\n"))); width > columns &&
				strings.Contains(line, "│") {
				t.Errorf("%d columns: a line of %d: %s", columns, width, line)
			}
		}
		if !found {
			t.Errorf("%d columns: no axis begins with %s:\n%s", columns, want, l.Page(columns, 50))
		}
	}
}

// bars returns the rows of bars of a chart of admitted shares, one a second from 0 on, without
// labels.
func bars(values ...float64) (rows []string) {
	l := screen.NewLive(cli.NewApp(io.Discard, io.Discard))
	o := opening()
	o.Duration = time.Duration(len(values)) * time.Second
	l.Open(o)
	l.Board(&screen.Board{Admitted: values})
	for line := range strings.Lines(l.Page(len(values)+7, 23)) {
		if label, row, ok := strings.Cut(strings.ReplaceAll(line, "┤", "│"), "│"); ok {
			rows = append(rows, strings.TrimSpace(label)+"|"+strings.TrimRight(row, "\n"))
		}
	}
	return rows
}

// A bar that reaches the limit ends at the line of the limit, and none above it looks like it.
func TestLiveBars(t *testing.T) {
	got := bars(0, 0.5, 1, 1.06, 1.13, 1.3)
	want := []string{"100 %|___▂▄▲", "|  ████", "50 %|  ████", "| █████", "0 %| █████"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("bars\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A paused screen keeps its figures and events, fits a new size, and shows the present when it goes
// on.
func TestLivePauses(t *testing.T) {
	l := drawn(io.Discard)
	before := l.Page(80, 24)
	l.Pause()
	l.Phase(50*time.Second, &story.Phases[3])
	later := board()
	later.At = 50 * time.Second
	l.Board(later)
	paused := l.Page(80, 24)
	if want := strings.Replace(before, "q quit   p pause", "PAUSED; the demo goes on   p "+
		"continue   q quit", 1); paused != want {
		t.Errorf("paused:\n%s\nwant:\n%s", paused, want)
	}
	if page := l.Page(100, 40); !strings.Contains(page, "41s of 1m") ||
		!strings.Contains(page, "headgate top") {
		t.Errorf("paused, in another size:\n%s", page)
	}
	l.Pause()
	if page := l.Page(80, 24); !strings.Contains(page, "50s of 1m") ||
		!strings.Contains(page, story.Phases[3].Text) {
		t.Errorf("after the pause:\n%s", page)
	}
}

// Only the part of a bar above the limit is red, and only of one that is out of tolerance.
func TestLiveColours(t *testing.T) {
	app := cli.NewApp(io.Discard, io.Discard)
	app.Colour = true
	l := screen.NewLive(app)
	o := opening()
	o.Duration = 3 * time.Second
	l.Open(o)
	l.Board(&screen.Board{Admitted: []float64{1, 1.04, 1.2}})
	const red = "\x1b[31m▆\x1b[0m"
	page := l.Page(10, 23)
	if strings.Count(page, "\x1b[31m") != 1 || !strings.Contains(page, "100 % ┤_▁"+red+"\n") {
		t.Errorf("%q", page)
	}
}
