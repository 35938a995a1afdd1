package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

const (
	// maxMarks bounds the lines, list items and fields of a file, so reading a file takes tens of
	// milliseconds and megabytes at worst. A thousand rules with every field take 41,000.
	maxMarks = 60_000
	// searchBudget bounds how many bytes are parsed again to find the line of a syntax error. In a
	// file beyond it the reported line may be the line after, which the library had to read before
	// it gave up.
	searchBudget = 256 << 10
)

var (
	byteOrderMark = []byte("\uFEFF")
	// yamlError takes the library's own words apart; its line is right only for some errors.
	yamlError = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)
	// parserWords are the errors of the library's parser; all others are its scanner's or reader's.
	parserWords = []string{
		"did not find expected <stream-start>", "did not find expected <document start>",
		"did not find expected node content", "did not find expected '-' indicator",
		"did not find expected key", "did not find expected ',' or ']'",
		"did not find expected ',' or '}'", "found undefined tag handle",
	}
)

// Fault is where a text stops being a document, and why.
type Fault struct {
	Line, Col int // from 1
	Message   string
}

func fault(line, col int, format string, args ...any) *Fault {
	return &Fault{line, col, fmt.Sprintf(format, args...)}
}

// Parse returns the root of the single document in data. A nil root comes with the fault in its
// way; a root with a fault is the first of several documents.
func Parse(data []byte) (*yaml.Node, *Fault) {
	data = bytes.TrimPrefix(data, byteOrderMark)
	if f := checkText(data); f != nil {
		return nil, f
	}
	in := &lineReader{rest: data, fresh: true}
	first, second, err := load(in)
	switch {
	case errors.Is(err, io.EOF) || isEmpty(first):
		return nil, fault(1, 1, "holds no configuration: write {} to keep every default")
	case err != nil:
		return nil, syntax(data, in, err)
	case second != nil:
		return first.Content[0], fault(second.Line, second.Column,
			"a second document begins here: only one is read")
	}
	return first.Content[0], nil
}

// isEmpty reports whether doc is there but says nothing, as after a lone "---".
func isEmpty(doc *yaml.Node) bool {
	return doc != nil && doc.Content[0].Kind == yaml.ScalarNode && doc.Content[0].Value == ""
}

// load parses a document and looks whether another follows; io.EOF means there is not even a
// document.
func load(r io.Reader) (first, second *yaml.Node, err error) {
	in := yaml.NewDecoder(r)
	first, second = new(yaml.Node), new(yaml.Node)
	if err := in.Decode(first); err != nil {
		return nil, nil, err
	}
	switch err := in.Decode(second); {
	case errors.Is(err, io.EOF):
		return first, nil, nil
	case err != nil:
		return nil, nil, err
	}
	return first, second, nil
}

// checkText checks before parsing: characters, directives, number of lines, items and fields.
func checkText(data []byte) *Fault {
	marks, number := 0, 0
	for line := range bytes.Lines(data) {
		number++
		line = bytes.TrimSuffix(line, []byte("\n"))
		if col, why := unreadable(line); col > 0 {
			return fault(number, col, "%s", why)
		}
		if marks += weigh(line); marks > maxMarks {
			return fault(number, 1, "more than %d lines, items and fields up to here", maxMarks)
		}
	}
	return nil
}

// weigh returns how many nodes line can make, within a small factor.
func weigh(line []byte) int {
	marks := 1
	for i, c := range line {
		switch c {
		case ',', '[', '{':
			marks++
		case '-', ':', '?':
			if i+1 == len(line) || line[i+1] == ' ' {
				marks++
			}
		}
	}
	return marks
}

// unreadable returns the first column of line that is not plain text, and why; 0 when there is
// none. It is stricter than YAML: a character YAML takes for a line break would make every position
// lie, and each %TAG directive is compared with all before it.
func unreadable(line []byte) (col int, why string) {
	if bytes.HasPrefix(line, []byte("%")) {
		return 1, "directives (%…) are not allowed"
	}
	line = bytes.TrimSuffix(line, []byte("\r"))
	for col := 1; len(line) > 0; col++ {
		r, size := utf8.DecodeRune(line)
		switch {
		case r == utf8.RuneError && size == 1:
			return col, "not UTF-8 text"
		case r < ' ' && r != '\t', r >= 0x7f &&
			r <= 0x9f, r == '\u2028', r == '\u2029', r == '\uFEFF':
			return col, fmt.Sprintf("the control character %U is not allowed", r)
		}
		line = line[size:]
	}
	return 0, ""
}

// syntax returns where and why data stops being YAML: err, after what in has handed out.
func syntax(data []byte, in *lineReader, err error) *Fault {
	hint, message := takeApart(err)
	number := in.number
	if in.ended && hint > 0 { // something was left open: the library knows better where it began
		number = hint
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	number = firstBadLine(lines, min(max(number, 1), len(lines)))
	line := lines[number-1]
	indent := len(line) - len(bytes.TrimLeft(line, " "))
	return fault(number, indent+1, "not valid YAML: %s: %s", message,
		cause(lines[number-1:min(max(in.number, number), len(lines))], number))
}

// firstBadLine returns the line at or before number up to which the file still is YAML: the line
// that opened something never closed, or that does not fit the lines above it.
func firstBadLine(lines [][]byte, number int) int {
	prefix := bytes.Join(lines[:number], nil)
	budget := searchBudget
	for n := number; n > 1; n-- {
		prefix = prefix[:len(prefix)-len(lines[n-1])]
		if budget -= len(prefix); budget < 0 {
			return number
		}
		if _, _, err := load(bytes.NewReader(prefix)); err == nil || errors.Is(err, io.EOF) {
			return n
		}
	}
	return 1
}

// takeApart returns the line, 0 if unknown, and the words of the library's err. Its scanner counts
// lines from one, its parser from nought, and neither tells which of them speaks: the words do.
func takeApart(err error) (line int, message string) {
	parts := yamlError.FindStringSubmatch(err.Error())
	if parts == nil {
		return 0, err.Error()
	}
	message = parts[2]
	if strings.HasPrefix(message, "unknown anchor") {
		return 0, "anchors and aliases (& and *) are not allowed"
	}
	line, _ = strconv.Atoi(parts[1]) // left out for the first line
	if slices.Contains(parserWords, message) {
		line++
	}
	return max(line, 1), message
}

// lineReader hands data out a line at a time, so after a failure it is known how far the library
// had come.
type lineReader struct {
	rest   []byte
	number int  // of the last line handed out, from 1
	fresh  bool // whether the next byte begins a line
	ended  bool // whether the end was asked for
}

// Read hands out at most the rest of a line.
func (r *lineReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		r.ended = true
		return 0, io.EOF
	}
	if r.fresh {
		r.number++
	}
	n := copy(p, r.rest)
	if end := bytes.IndexByte(r.rest[:n], '\n'); end >= 0 {
		n = end + 1
	}
	r.fresh = n > 0 && r.rest[n-1] == '\n'
	r.rest = r.rest[n:]
	return n, nil
}
