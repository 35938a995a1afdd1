package screen

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/cmd/headgate/demo/story"
)

// Live draws a demo on a terminal, in the size the terminal has at the time. For a single
// goroutine.
type Live struct {
	app     *cli.App
	opening Opening
	events  []string // the newest last, at most maxEvents
	paused  *drawing // nil: not paused
	last    drawing
}

// drawing is the board and the events of a page.
type drawing struct {
	board  Board
	events []string
}

// NewLive returns a screen on the app's standard output.
func NewLive(app *cli.App) *Live { return &Live{app: app} }

// Open takes the terminal.
func (l *Live) Open(o *Opening) {
	l.opening = *o
	// as for fmt.Fprint: the error has no reader
	_, _ = io.WriteString(l.app.Stdout, cli.EnterScreen)
}

// Close gives the terminal back.
func (l *Live) Close() { _, _ = io.WriteString(l.app.Stdout, cli.LeaveScreen) }

// Keys returns the keys pressed, and the function to restore the terminal.
func (l *Live) Keys() (keys <-chan byte, restore func()) { return cli.Keystrokes() }

// Phase shows the beginning of a phase.
func (l *Live) Phase(at time.Duration, p *story.Phase) {
	l.event(at, l.app.Paint(cli.Strong, p.Text))
}

// Change shows a change of a PoP's mitigations.
func (l *Live) Change(c Change) {
	does := map[string]string{
		"shed": "sheds", "block": "blocks",
		"allow": "always allows",
	}[c.Mitigation.Action]
	pop, key := story.PoPs[c.PoP], cli.Safe(c.Mitigation.Key)
	if c.Kind == "cleared" {
		l.event(c.At, fmt.Sprintf("%s no longer %s %s", pop, does, key))
		return
	}
	l.event(c.At, fmt.Sprintf("%s %s %s; source: %s", pop, does, key,
		sourceText(c.Mitigation.Source)))
}

func (l *Live) event(at time.Duration, text string) {
	l.events = append(l.events, fmt.Sprintf("%8.1f s  %s", at.Seconds(), text))
	l.events = l.events[max(0, len(l.events)-maxEvents):]
}

// Pause pauses the screen, or continues. The demo goes on meanwhile.
func (l *Live) Pause() {
	if l.paused != nil {
		l.paused = nil
		return
	}
	l.paused = &drawing{l.last.board, slices.Clone(l.events)}
}

// Board draws the state, or the state at which the screen was paused.
func (l *Live) Board(b *Board) {
	l.last = drawing{*b, l.events}
	columns, rows := cli.TerminalSize(l.app.Stdout)
	_, _ = io.WriteString(l.app.Stdout, cli.Frame(l.Page(columns, rows), columns))
}

// Page returns the lines for a terminal of that size, below the last row, left empty against
// scrolling. A size unknown (0) is taken as 80 columns and 24 rows.
func (l *Live) Page(columns, rows int) string {
	if columns <= 0 {
		columns = 80
	}
	if rows <= 0 {
		rows = 24
	}
	d, keys := &l.last, "q quit   p pause"
	if l.paused != nil {
		d, keys = l.paused, l.app.Paint(cli.Yellow,
			"PAUSED")+"; the demo goes on   p continue   q quit"
	}
	lines := l.layout(d, columns, rows-1)
	if len(lines) > rows-2 {
		lines = lines[:max(0, rows-2)]
	}
	return strings.Join(append(lines, keys), "\n") + "\n"
}
