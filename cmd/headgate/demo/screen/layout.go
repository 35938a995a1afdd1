package screen

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/cmd/headgate/demo/story"
)

// maxEvents is the number of events kept, and shown where there is room.
const maxEvents = 12

// plan is the parts a page has room for, in lines.
type plan struct {
	pops, gap, hints, offered bool
	height                    int // of the chart of the admitted requests; 0: none
	events                    int
}

// planFor shares out the rows of a page. The title, the table and the keys take fixedRows; then
// each part in order of use to a reader, so a small terminal shows the figures and a large terminal
// the events and a second chart too.
func planFor(rows int) (p plan) {
	const fixedRows = 8 // title, phase, five of the table, keys
	room, full := rows-fixedRows, false
	take := func(n int) bool {
		if full = full || room < n; full {
			return false
		}
		room -= n
		return true
	}
	if take(7) { // a heading, five rows of bars, the axis
		p.height = 5
	}
	if take(2) {
		p.events = 2
	}
	p.pops = take(5) // a heading, three, an empty line
	p.gap = take(1)
	if take(1) {
		p.height = 6
	}
	if take(3) {
		p.events += 3
	}
	p.hints = take(4)   // a heading, two, an empty line
	p.offered = take(7) // a heading, four rows of bars, the axis, an empty line
	if take(6) {
		p.height = 12
	}
	p.events = min(maxEvents, p.events+max(0, room))
	return p
}

// layout returns the lines of a page but for the keys.
func (l *Live) layout(d *drawing, columns, rows int) (lines []string) {
	p, b := planFor(rows), &d.board
	add := func(more ...string) { lines = append(lines, more...) }
	add(l.title(b))
	if p.pops {
		add(l.pops()...)
		add("")
	}
	if p.hints {
		add(l.hints()...)
		add("")
	}
	add(fmt.Sprintf("Now: %s (phase %d of %d)", l.app.Paint(cli.Strong, story.Phases[b.Phase].Text),
		b.Phase+1, len(story.Phases)))
	add(l.table(b)...)
	if p.gap {
		add("")
	}
	if p.offered {
		add("Attacker, requests sent in each second, % of its limit:")
		add(l.chart(chart{
			values: b.Offered, first: b.First, height: 4, step: 1, columns: columns,
			seconds: l.seconds(), over: 9,
		})...)
		add("")
	}
	if p.height > 0 {
		step := 0.25
		if p.height > 6 {
			step = 0.125
		}
		add(fmt.Sprintf("Attacker, requests admitted in each second, %% of its limit (last "+
			"second: %.0f %%):", 100*b.Share))
		add(l.chart(chart{
			values: b.Admitted, first: b.First, height: p.height, step: step, columns: columns,
			seconds: l.seconds(), over: 1 + story.Tolerance,
		})...)
	}
	shown := d.events[max(0, len(d.events)-p.events):]
	add(shown...)
	for range p.events - len(shown) {
		add("")
	}
	return lines
}

// seconds returns the length of the demo in seconds, 0 without an end.
func (l *Live) seconds() int { return int(l.opening.Duration / time.Second) }

// title is the progress and the limit.
func (l *Live) title(b *Board) string {
	until := "until ctrl-C"
	if l.opening.Duration > 0 {
		until = "of " + cli.Span(l.opening.Duration)
	}
	return fmt.Sprintf("headgate demo  %s %s   limit: %d requests/s for each client, over all PoPs",
		cli.Span(b.At.Truncate(time.Second)), until, story.Limit)
}

// pops explains the PoPs and lists their addresses.
func (l *Live) pops() []string {
	lines := []string{"Three PoPs, like three data centres: each has a node and a ring of its own."}
	for _, p := range l.opening.PoPs {
		lines = append(lines, fmt.Sprintf("  %s %-9s  %s  ring %s", p.Name, p.City,
			p.Dashboard, p.Ring))
	}
	return lines
}

// hints are commands for a second terminal.
func (l *Live) hints() []string {
	admin := ""
	if len(l.opening.PoPs) > 0 {
		admin = l.opening.PoPs[0].Admin
	}
	return []string{
		"In another terminal:",
		"  headgate top --admin " + admin,
		fmt.Sprintf("  headgate explain %s %s --admin %s", story.Rule,
			cli.Safe(l.opening.Attacker), admin),
	}
}

// table is each PoP's figures. SOURCE is as wide as the usual value, so the columns stay in place.
func (l *Live) table(b *Board) []string {
	rows := [][]cli.Cell{cli.Header("POP", "ATTACK/S", "ADMITTED/S", "MITIGATION",
		"SOURCE          ", "NORMAL/S", "NORMAL DENIED")}
	for pop := range b.Rows {
		rows = append(rows, row(story.PoPs[pop], &b.Rows[pop]))
	}
	var out strings.Builder
	l.app.WriteTable(&out, append(rows, row("all", &b.Whole)))
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

func row(name string, r *Row) []cli.Cell {
	does := r.Action
	if does == "shed" {
		does += " " + strconv.FormatFloat(100*r.Ratio, 'f', 0, 64) + " %"
	}
	return []cli.Cell{
		cli.Left(name), cli.Number(strconv.Itoa(r.Attack.Asked)),
		cli.Number(strconv.Itoa(r.Attack.Admitted)),
		{Text: cli.Safe(does), Style: cli.StateStyle(r.Action)},
		cli.Left(sourceName(r.Source)),
		cli.Number(strconv.Itoa(r.Normal.Asked)),
		{Text: strconv.Itoa(r.Denied), Right: true, Style: goodStyle(r.Denied == 0)},
	}
}
