package document

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

var (
	// a value that begins with a character of YAML's own
	special = regexp.MustCompile("(?:^|[:\\[,{-])[ ]+([*@%`!&?][^ ,}\\]\n]*)")
	// a quote with which a value begins
	opening = regexp.MustCompile(`(?:^|[:\[,{-])[ ]*(["'])`)
)

// oddBlanks look like a space and are none.
const oddBlanks = "\u00a0\u2002\u2003\u2007\u2009\u200a\u200b\u202f\u3000"

// cause says in words why lines, of which the first has a number, are no YAML: it names the likely
// slip, else the text.
func cause(lines [][]byte, number int) string {
	const mostLines, mostBytes = 100, 500 // of a slip by hand
	for i, line := range lines[:min(len(lines), mostLines)] {
		text := string(bytes.TrimRight(line[:min(len(line), mostBytes)], "\r\n"))
		blank := text[:len(text)-len(strings.TrimLeft(text, " \t"))]
		at := ""
		if i > 0 {
			at = fmt.Sprintf(" on line %d", number+i)
		}
		switch {
		case strings.Contains(blank, "\t"):
			return "a tab cannot indent" + at + ": use spaces"
		case strings.ContainsAny(text, oddBlanks):
			odd := []rune(text[strings.IndexAny(text, oddBlanks):])[0]
			return fmt.Sprintf("the blank %U%s is no space: write a space", odd, at)
		}
		if found := special.FindStringSubmatch(text); found != nil {
			return fmt.Sprintf("write %q in quotes%s", Clip(found[1]), at)
		}
		for _, found := range opening.FindAllStringSubmatchIndex(text, -1) {
			if quote := text[found[2]:found[3]]; len(text) < mostBytes &&
				!strings.Contains(text[found[3]:], quote) {
				return "the quote before " + Clip(strings.TrimSpace(text[found[3]:])) + at +
					" is not closed"
			}
		}
	}
	first := Clip(string(bytes.TrimSpace(lines[0][:min(len(lines[0]), mostBytes)])))
	if len(lines) > 1 {
		return fmt.Sprintf("it begins at %q, and shows on line %d", first, number+len(lines)-1)
	}
	return fmt.Sprintf("at %q", first)
}
