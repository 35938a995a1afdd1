package cli

import (
	"io"
	"strings"
	"unicode/utf8"
)

// Style is how a cell looks on a terminal with colours.
type Style string

// The styles, as ANSI SGR parameters.
const (
	Plain  Style = ""
	Faint  Style = "2"
	Strong Style = "1"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
)

// Paint dresses text in s; without colours text is returned unchanged.
func (a *App) Paint(s Style, text string) string {
	if !a.Colour || s == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// Cell is a field of a table.
type Cell struct {
	Text  string
	Style Style
	Right bool // aligned to the right, for numbers
}

// Left returns a cell of text made safe to show.
func Left(text string) Cell { return Cell{Text: Safe(text)} }

// Number returns a cell of a number, which stands at the right.
func Number(text string) Cell { return Cell{Text: text, Right: true} }

// Header returns the first row of a table; the alignment is the next row's.
func Header(names ...string) []Cell {
	row := make([]Cell, len(names))
	for i, name := range names {
		row[i] = Cell{Text: name, Style: Faint}
	}
	return row
}

// WriteTable prints rows, the first the header, in columns two spaces apart.
func (a *App) WriteTable(w io.Writer, rows [][]Cell) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, c := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(c.Text))
		}
	}
	if len(rows) > 1 {
		for i := range rows[0] {
			rows[0][i].Right = rows[1][i].Right
		}
	}
	for _, row := range rows {
		// as for fmt.Fprint: the error has no reader
		_, _ = io.WriteString(w, a.line(row, widths)+"\n")
	}
}

func (a *App) line(row []Cell, widths []int) string {
	var b strings.Builder
	for i, c := range row {
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.Text))
		if c.Right {
			b.WriteString(pad)
		}
		b.WriteString(a.Paint(c.Style, c.Text))
		if !c.Right {
			b.WriteString(pad)
		}
		if i < len(row)-1 {
			b.WriteString("  ")
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// StateStyle is how a key's state, action or verdict is shown.
func StateStyle(state string) Style {
	switch state {
	case "block", "deny":
		return Red
	case "shed", "full":
		return Yellow
	case "allow":
		return Green
	}
	return Plain
}
