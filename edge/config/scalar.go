package config

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

// text returns the characters of a single value, as they stand in the file: 404 and true are texts.
func (v value) text() (string, bool) {
	return v.node.Value, v.is(yaml.ScalarNode)
}

// name returns a parser of names: [A-Za-z0-9_.-], 1 to limit of them.
func name(limit int) func(value) (string, bool) {
	return func(v value) (string, bool) {
		s, ok := v.text()
		return s, ok && v.checkName(s, limit)
	}
}

// nameOrNone is name that also takes "".
func nameOrNone(limit int) func(value) (string, bool) {
	return func(v value) (string, bool) {
		s, ok := v.text()
		return s, ok && (s == "" || v.checkName(s, limit))
	}
}

func (v value) checkName(s string, limit int) bool {
	ok := isName(s, limit)
	if !ok {
		v.fault("must be 1 to %d letters, digits, _, . or -, not %s", limit, show(s))
	}
	return ok
}

// filePath parses the name of a file or directory; "" is none. Whether it is there is not looked
// at.
func filePath(v value) (string, bool) {
	s, ok := v.text()
	switch {
	case !ok:
	case len(s) > MaxPath:
		v.fault("a file name is at most %d bytes long, this one has %d", MaxPath, len(s))
		return "", false
	case !printable(s):
		v.fault("a file name holds printable characters only, not %s", show(s))
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
		v.fault("must be %s or %s, not %s%s", strings.Join(words[:last], ", "), words[last], show(s), cmp.Or(orValue(v.path, s), didYouMean(s, words)))
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
		n, err := parseInteger(s, low, high)
		if err != nil {
			v.fault("%v", err)
		}
		return n, err == nil
	}
}

// parseInteger is strconv.ParseInt for plain decimal digits from low to high, and words for people.
func parseInteger(s string, low, high int64) (int64, error) {
	if !plain(strings.TrimPrefix(s, "-")) {
		return 0, fmt.Errorf("must be a whole number in plain digits, not %s%s", show(s), plainHint(s))
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("must be %d to %d, not %s", low, high, clip(s))
	}
	return n, nil
}

// plain reports whether s is a decimal number that nobody reads in another way.
func plain(s string) bool { return decimal(s) && (s == "0" || s[0] != '0') }

// plainHint suggests how to write a number that is whole but written in another way. A leading
// nought means ten to one reader and eight to another, so nothing is suggested for it.
func plainHint(s string) string {
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1e15 || strings.HasPrefix(s, "0") {
		return ""
	}
	return fmt.Sprintf(": write %.0f", f)
}

func clip(s string) string {
	if len(s) > maxShown {
		return s[:maxShown] + "…"
	}
	return s
}

// duration returns a parser of durations from low to high with their unit, such as 1m30s.
func duration(low, high time.Duration) func(value) (time.Duration, bool) {
	return func(v value) (time.Duration, bool) {
		s, ok := v.text()
		if !ok {
			return 0, false
		}
		t, err := time.ParseDuration(s)
		switch {
		case bareNumber(s):
			v.fault("must be a duration with a unit, not %s: write %ss for seconds", show(s), clip(s))
		case err != nil:
			v.fault("must be a duration such as 10s, 1m30s or 24h, not %s%s", show(s), durationHint(s))
		case t < low || t > high:
			v.fault("must be %s to %s, not %s", brief(low), brief(high), clip(s))
		default:
			return t, true
		}
		return 0, false
	}
}

// bareNumber reports whether s is a number without a unit.
func bareNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil && decimal(s[len(s)-1:])
}

// durationHint suggests how to write a duration with a space in it, or in days.
func durationHint(s string) string {
	if together := strings.Join(strings.Fields(s), ""); together != s {
		if t, err := time.ParseDuration(together); err == nil {
			return ": write " + brief(t)
		}
	}
	days, err := strconv.ParseInt(strings.TrimSuffix(s, "d"), 10, 16)
	if err != nil || !strings.HasSuffix(s, "d") {
		return ""
	}
	return fmt.Sprintf(": write %dh", days*24)
}

// brief returns t in Go's words without the noughts at their end: 10m, not 10m0s.
func brief(t time.Duration) string {
	s := t.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// unit is a unit of memory, and how many bytes it is.
type unit struct {
	name  string
	bytes int64
}

// units are the units of memory, greatest first. The decimal ones (MB) are refused: nobody agrees
// whether they are decimal.
var units = []unit{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"", 1}}

// size returns a parser of amounts of memory from low to high: 64MiB, or 67108864 in bytes.
func size(low, high int64) func(value) (int64, bool) {
	return func(v value) (int64, bool) {
		s, ok := v.text()
		if !ok {
			return 0, false
		}
		n, ok := bytesOf(s)
		switch {
		case !ok:
			v.fault("must be a size such as 512KiB, 64MiB or 1GiB, not %s%s", show(s), unitHint(s))
			return 0, false
		case n < low || n > high:
			v.fault("must be %s to %s, not %s", inUnits(low), inUnits(high), clip(s))
			return 0, false
		}
		return n, true
	}
}

// bytesOf returns the bytes s stands for; more than fit are as many as fit.
func bytesOf(s string) (int64, bool) {
	digits, name := cutDigits(s)
	for _, u := range units {
		if u.name == name && plain(digits) {
			// a number that is too large reads as the largest
			n, _ := strconv.ParseInt(digits, 10, 64)
			return min(n, math.MaxInt64/u.bytes) * u.bytes, true
		}
	}
	return 0, false
}

// unitHint suggests the right unit for those that people write instead.
func unitHint(s string) string {
	digits, name := cutDigits(s)
	name = strings.ToUpper(strings.TrimSpace(name))
	for _, u := range units {
		if u.name == "" || !plain(digits) {
			continue
		}
		letter := u.name[:1]
		if name == letter || name == letter+"B" || name == letter+"I" || name == letter+"IB" {
			return ": write " + clip(digits) + u.name
		}
	}
	return ""
}

// cutDigits returns the digits s begins with, and the rest.
func cutDigits(s string) (digits, rest string) {
	rest = strings.TrimLeft(s, "0123456789")
	return s[:len(s)-len(rest)], rest
}

// inUnits writes n bytes in the greatest unit that divides them.
func inUnits(n int64) string {
	i := slices.IndexFunc(units, func(u unit) bool { return n%u.bytes == 0 })
	return strconv.FormatInt(n/units[i].bytes, 10) + units[i].name
}
