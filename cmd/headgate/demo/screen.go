package demo

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
)

// demoHeard is how many of the last events a screen shows.
const demoHeard = 8

// demoScreen draws a demo on a terminal, anew twice a second.
type demoScreen struct {
	a     *app
	d     *demo
	heard []string // events, the newest last
}

func (s *demoScreen) opens(d *demo) {
	s.d = d
	_, _ = io.WriteString(s.a.Stdout, cli.EnterScreen) // as for fmt.Fprint: nobody to tell
}

func (s *demoScreen) closes() { _, _ = io.WriteString(s.a.Stdout, cli.LeaveScreen) }

func (s *demoScreen) keys() (keys <-chan byte, restore func()) { return cli.Keystrokes() }

func (s *demoScreen) hear(at time.Duration, text string) {
	s.heard = append(s.heard, fmt.Sprintf("%8.1f s  %s\n", at.Seconds(), text))
	s.heard = s.heard[max(0, len(s.heard)-demoHeard):]
}

func (s *demoScreen) phase(at time.Duration, p *demoPhase) { s.hear(at, s.a.Paint(cli.Strong, p.says)) }

func (s *demoScreen) news(i demoNewsItem) {
	if i.change == "cleared" {
		s.hear(i.at, fmt.Sprintf("%s lets %s pass again", demoPoPs[i.pop], cli.Safe(i.flag.Key)))
		return
	}
	does := map[string]string{"shed": "sheds", "block": "blocks", "allow": "always lets pass"}[i.flag.Action]
	s.hear(i.at, fmt.Sprintf("%s %s %s, %s", demoPoPs[i.pop], does, cli.Safe(i.flag.Key), byWhom(i.flag.Source)))
}

// byWhom says in words who is the source of a flag.
func byWhom(source string) string {
	of, who, told := strings.Cut(source, ":")
	switch {
	case source == "self":
		return "by its own count"
	case source == "ring":
		return "by its ring's count"
	case told && of == "gossip":
		return "as " + cli.Safe(who) + " adds up over all PoPs"
	}
	return "by " + cli.Safe(source)
}

func (s *demoScreen) board(b *demoBoard) {
	columns, rows := cli.TerminalSize(s.a.Stdout)
	_, _ = io.WriteString(s.a.Stdout, cli.Frame(s.page(b, rows), columns))
}

// page renders the part that fits on so many rows (0: everything). The oldest events give way first, then the hints.
func (s *demoScreen) page(b *demoBoard, rows int) string {
	head, table := s.head(b), s.attack(b)
	hints := fmt.Sprintf("  headgate top --admin %[1]s\n  headgate explain %[2]s %[3]s --admin %[1]s\n\n",
		s.d.stage.pops[0].admin, demoRule, cli.Safe(string(s.d.load.attacker)))
	room := demoHeard
	if rows > 0 {
		room = rows - 1 - strings.Count(head+hints+table, "\n") // the last row stays empty, or it would scroll
	}
	if room < 0 {
		room += strings.Count(hints, "\n")
		hints = ""
	}
	heard := s.heard[max(0, len(s.heard)-max(0, room)):]
	page := head + hints + table + strings.Join(heard, "")
	lines := slices.Collect(strings.Lines(page))
	if rows > 1 && len(lines) >= rows {
		lines = lines[:rows-1]
	}
	return strings.Join(lines, "")
}

// head renders the title, the progress and the PoPs' addresses.
func (s *demoScreen) head(b *demoBoard) string {
	var page strings.Builder
	until := "until ctrl-C"
	if b.length > 0 {
		until = "of " + cli.Span(b.length)
	}
	fmt.Fprintf(&page, "headgate demo   %s %s   %d requests a second a client, over %d PoPs   q quits\n\n",
		cli.Span(b.at.Truncate(time.Second)), until, demoLimit, len(demoPoPs))
	for _, p := range s.d.stage.pops {
		fmt.Fprintf(&page, "  %s  %s   ring: %s\n", p.name, p.dashboard(), p.ring)
	}
	return page.String() + "\n"
}

// attack says how it stands.
func (s *demoScreen) attack(b *demoBoard) string {
	var page strings.Builder
	fmt.Fprintf(&page, "now: %s\n\nthe attacker, %s, and the normal clients:\n", s.a.Paint(cli.Strong, b.phase.says), cli.Safe(string(s.d.load.attacker)))
	s.a.WriteTable(&page, s.table(b))
	fmt.Fprintf(&page, "\nwhat it was admitted of the limit, second by second (!: more than 5 %% too much):\n  %s\n\n", sparks(b.shares))
	return page.String()
}

// table renders each PoP's figures.
func (s *demoScreen) table(b *demoBoard) [][]cli.Cell {
	rows := [][]cli.Cell{cli.Header("POP", "OFFERED/S", "ADMITTED/S", "OF LIMIT", "DROP RATIO", "BY", "NORMAL/S", "REFUSED")}
	for pop := range b.rows {
		r := &b.rows[pop]
		ratio := ""
		if r.by != "" {
			ratio = hundredths(r.ratio)
		}
		rows = append(rows, s.row(demoPoPs[pop], r, "", ratio))
	}
	return append(rows, s.row("all", &b.whole, hundredths(b.share), ""))
}

func (s *demoScreen) row(name string, r *demoRow, share, ratio string) []cli.Cell {
	return []cli.Cell{
		cli.Left(name), cli.Number(strconv.Itoa(r.attack.asked)), cli.Number(strconv.Itoa(r.attack.admitted)), cli.Number(share),
		{Text: ratio, Right: true, Style: cli.Yellow},
		cli.Left(r.by), cli.Number(strconv.Itoa(r.good.asked)),
		{Text: strconv.Itoa(r.refused), Right: true, Style: goodStyle(r.refused == 0)},
	}
}

// sparks draws shares of the limit as bars: half of it, and it all, are the fourth and the eighth; more is an exclamation mark.
func sparks(shares []float64) string {
	bars := []rune(" ▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, share := range shares {
		if share > 1+demoNear {
			b.WriteRune('!')
			continue
		}
		b.WriteRune(bars[min(len(bars)-1, int(share*float64(len(bars)-1)+0.5))])
	}
	return b.String()
}
