package config

import (
	"cmp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/headgate-dev/headgate/edge/config/document"
)

const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle |
	yaml.FoldedStyle

// text returns the characters of a single value, as in the file: 404 and true are texts.
func (v value) text() (string, bool) {
	return v.node.Value, v.is(yaml.ScalarNode)
}

// name returns a parser of names: [A-Za-z0-9_.-], 1 to limit characters.
func name(limit int) func(value) (string, bool) {
	return func(v value) (string, bool) {
		s, ok := v.text()
		return s, ok && v.checkName(s, limit)
	}
}

// nameOrNone is name, or "".
func nameOrNone(limit int) func(value) (string, bool) {
	return func(v value) (string, bool) {
		s, ok := v.text()
		return s, ok && (s == "" || v.checkName(s, limit))
	}
}

func (v value) checkName(s string, limit int) bool {
	ok := document.IsName(s, limit)
	if !ok {
		v.fault("must be 1 to %d letters, digits, _, . or -, not %s", limit, document.Show(s))
	}
	return ok
}

// filePath parses the name of a file or directory; "" is none. The file need not exist.
func filePath(v value) (string, bool) {
	s, ok := v.text()
	switch {
	case !ok:
	case len(s) > MaxPath:
		v.fault("a file name is at most %d bytes long, this one has %d", MaxPath, len(s))
		return "", false
	case !document.Printable(s):
		v.fault("a file name holds printable characters only, not %s", document.Show(s))
		return "", false
	}
	return s, ok
}

// oneOf returns a parser of the given words.
func oneOf[T any](words []string, parse func(string) (T, bool)) func(value) (T, bool) {
	return func(v value) (T, bool) {
		var none T
		s, ok := v.text()
		if !ok {
			return none, false
		}
		for _, word := range words {
			if s == word {
				return parse(word)
			}
		}
		last := len(words) - 1
		v.fault("must be %s or %s, not %s%s", strings.Join(words[:last], ", "), words[last],
			document.Show(s), cmp.Or(synonymForValue(v.path, s), didYouMean(s, words)))
		return none, false
	}
}

// integer returns a parser of whole numbers from low to high in plain decimal digits.
func integer(low, high int64) func(value) (int64, bool) {
	return func(v value) (int64, bool) {
		s, ok := v.text()
		if !ok {
			return 0, false
		}
		if v.node.Style&quoted != 0 {
			v.fault("must be a number, not text: leave out the quotes")
			return 0, false
		}
		n, err := document.Integer(s, low, high)
		if err != nil {
			v.fault("%v", err)
		}
		return n, err == nil
	}
}

// duration returns a parser of durations from low to high with their unit, such as 1m30s.
func duration(low, high time.Duration) func(value) (time.Duration, bool) {
	return func(v value) (time.Duration, bool) {
		s, ok := v.text()
		if !ok {
			return 0, false
		}
		t, err := document.Duration(s, low, high)
		if err != nil {
			v.fault("%v", err)
		}
		return t, err == nil
	}
}

// size returns a parser of amounts of memory from low to high: 64MiB, or 67108864 in bytes.
func size(low, high int64) func(value) (int64, bool) {
	return func(v value) (int64, bool) {
		s, ok := v.text()
		if !ok {
			return 0, false
		}
		n, err := document.Size(s, low, high)
		if err != nil {
			v.fault("%v", err)
		}
		return n, err == nil
	}
}
