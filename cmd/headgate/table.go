package main

import (
	"io"
	"strings"
	"unicode/utf8"
)

// style is how a cell looks on a terminal with colours.
type style string

// The styles, as ANSI SGR parameters.
const (
	plain  style = ""
	faint  style = "2"
	strong style = "1"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
)

// paint dresses text in s; without colours it returns text as it is.
func (a *app) paint(s style, text string) string {
	if !a.colour || s == plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// cell is one field of a table.
type cell struct {
	text  string
	style style
	right bool // aligned to the right, for numbers
}

func left(text string) cell   { return cell{text: safe(text)} }
func number(text string) cell { return cell{text: text, right: true} }

// header returns the first row of a table; its alignment is the next row's.
func header(names ...string) []cell {
	row := make([]cell, len(names))
	for i, name := range names {
		row[i] = cell{text: name, style: faint}
	}
	return row
}

// writeTable prints rows, the first of them the header, in columns two spaces apart.
func (a *app) writeTable(w io.Writer, rows [][]cell) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, c := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(c.text))
		}
	}
	if len(rows) > 1 {
		for i := range rows[0] {
			rows[0][i].right = rows[1][i].right
		}
	}
	for _, row := range rows {
		_, _ = io.WriteString(w, a.line(row, widths)+"\n") // as for fmt.Fprint: nobody to tell
	}
}

func (a *app) line(row []cell, widths []int) string {
	var b strings.Builder
	for i, c := range row {
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.text))
		if c.right {
			b.WriteString(pad)
		}
		b.WriteString(a.paint(c.style, c.text))
		if !c.right {
			b.WriteString(pad)
		}
		if i < len(row)-1 {
			b.WriteString("  ")
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// stateStyle is how a key's state, action or verdict is shown.
func stateStyle(state string) style {
	switch state {
	case "block", "deny":
		return red
	case "shed":
		return yellow
	case "allow":
		return green
	}
	return plain
}
