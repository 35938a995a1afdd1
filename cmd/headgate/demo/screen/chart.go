package screen

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
)

const (
	labelWidth = 7   // of the vertical axis, with its line
	maxSeconds = 150 // that a chart without end shows, however wide
)

// chart is bars of a value a second, in limits, over time.
type chart struct {
	values  []float64
	first   int     // the second, since the story began, of values[0]
	height  int     // rows of bars
	step    float64 // of a row, in limits: 1 must be a multiple of it
	columns int     // of the terminal
	seconds int     // the length of the demo; 0: without end
	over    float64 // of a bar above it the part over the limit is red
}

// chart renders the rows of bars and the axis below. The limit is a line of underscores; a bar too
// high for the chart ends in a triangle.
func (l *Live) chart(c chart) (lines []string) {
	cells, seconds := c.scale()
	shown := c.values[max(0, len(c.values)-seconds):]
	for row := c.height - 1; row >= 0; row-- {
		var line strings.Builder
		line.WriteString(c.label(row))
		empty := " "
		if float64(row)*c.step == 1 {
			empty = "_"
		}
		for cell := range cells {
			second := cell * seconds / cells
			if second >= len(shown) {
				line.WriteString(empty)
				continue
			}
			text, style := c.cell(shown[second], row), cli.Plain
			switch {
			case text == " ":
				text = empty
			case shown[second] > c.over && float64(row)*c.step >= 1:
				style = cli.Red
			}
			line.WriteString(l.app.Paint(style, text))
		}
		lines = append(lines, strings.TrimRight(line.String(), " "))
	}
	return append(lines, axis(c.first+len(c.values)-len(shown), seconds, cells))
}

// scale returns the columns of the bars, and the number of shown seconds: all of the demo if there
// is room, else the last, a column each.
func (c *chart) scale() (cells, seconds int) {
	cells = max(1, c.columns-labelWidth)
	seconds = min(cells, maxSeconds)
	if c.seconds > 0 {
		seconds = min(seconds, c.seconds)
	}
	return cells, seconds
}

// cell is the part of a bar in a row: an eighth to all, or nothing.
func (c *chart) cell(value float64, row int) string {
	if row == c.height-1 && value > float64(c.height)*c.step {
		return "▲"
	}
	eighths := int(math.Round(8*value/c.step)) - 8*row
	return string([]rune(" ▁▂▃▄▅▆▇█")[min(8, max(0, eighths))])
}

// label is the vertical axis beside a row: the value of the lower edge, at each half of the limit.
func (c *chart) label(row int) string {
	value := float64(row) * c.step
	if math.Mod(value, 0.5) != 0 {
		return strings.Repeat(" ", labelWidth-1) + "│"
	}
	return fmt.Sprintf("%*.0f %% ┤", labelWidth-4, 100*value)
}

// axis is the horizontal axis: times since the story began, at round seconds.
func axis(first, seconds, cells int) string {
	every := 5
	for _, every = range []int{5, 10, 20, 30, 60} {
		// columns from a single time on the axis to the next, at least
		if every*cells/seconds >= 10 {
			break
		}
	}
	line := []rune(strings.Repeat("─", cells))
	for second := (first + every - 1) / every * every; second < first+seconds; second += every {
		label := []rune(strconv.Itoa(second) + "s")
		// the first column of the second
		if at := ((second-first)*cells + seconds - 1) / seconds; at+len(label) <= len(line) {
			copy(line[at:], label)
		}
	}
	return strings.Repeat(" ", labelWidth-1) + "└" + string(line)
}
