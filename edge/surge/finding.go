package surge

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind is the kind of a finding.
type Kind string

// The kinds. Only an attack, with a sign of one hand behind the requests, has a policy.
const (
	Attack Kind = "attack"
	Crowd  Kind = "crowd"
	Few    Kind = "few"
)

// The states of a watch, beside the kinds.
const (
	Off      = "off"
	Learning = "learning"
	Quiet    = "quiet"
)

// Bounds of the findings.
const (
	MaxFindings = 64
	keepFor     = 24 * time.Hour
	overAfter   = time.Minute // below the bars
	maxFew      = 8           // addresses of a finding of kind few
)

// Finding is the common properties of the requests of a surge.
type Finding struct {
	ID         string // 6 hexadecimal digits of the conditions: the same on every node
	Kind       Kind
	Begun      time.Time
	Seen       time.Time // when the excess was above the bars last
	Over       bool
	Conditions []Condition  // 1 to 3; none of kind few
	Addresses  []netip.Addr // of kind few: at most 8
	// the share of the excess at 95 %, 0 to 1, and requests a second
	Low, High, Rate float64
	Peak            float64 // largest Rate so far; at half of it, figures stay unchanged
	Usual           float64 // upper end of the share of usual traffic at 95 %
	UsualRows       int
	Clients         int // in the sample, each once
	Networks        int
	Signs           []string
}

// MostPolicy is the largest share of usual traffic a policy may cover.
const MostPolicy = 0.05

// NoPolicy says why there is no policy; "": there is.
func (f *Finding) NoPolicy() string {
	switch {
	case f.Kind == Crowd:
		return "nothing distinguishes these requests from people: a pool or a wide limit is the " +
			"answer"
	case f.Kind == Few:
		return "a limit by client is the answer"
	case f.Usual > MostPolicy:
		return "up to " + percent(f.Usual) + " of usual traffic is like this"
	}
	return ""
}

// idOf returns the ID of conditions.
func idOf(conditions []Condition, addresses []netip.Addr) string {
	var lines []string
	for i := range conditions {
		c := &conditions[i]
		lines = append(lines, fmt.Sprintf("%s\x00%d\x00%s", c.Field, c.Op, c.Text))
	}
	for _, a := range addresses {
		lines = append(lines, a.String())
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\x01")))
	return hex.EncodeToString(sum[:3])
}

// order puts conditions in the order of sentences.
func order(conditions []Condition) {
	rank := func(c Condition) int {
		return slices.Index([]string{"method", "host", "path"}, c.Field) & 15
	}
	slices.SortStableFunc(conditions, func(a, b Condition) int { return rank(a) - rank(b) })
}

// Sentence is the finding in a sentence. Values of visitors are quoted.
func (f *Finding) Sentence() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Since %s, ", f.Begun.UTC().Format(time.TimeOnly))
	if f.Kind == Few {
		var all []string
		for _, a := range f.Addresses {
			all = append(all, a.String())
		}
		fmt.Fprintf(&b, "%s: %s of the excess (%s a second); a limit by client is the answer",
			strings.Join(all, ", "), between(f.Low, f.High), number(f.Rate))
		return b.String()
	}
	fmt.Fprintf(&b, "%s: %s of the excess (%s a second), %s of usual traffic; at least %d clients "+
		"in %d networks", inWords(f.Conditions), between(f.Low, f.High), number(f.Rate),
		atMost(f.Usual), f.Clients, f.Networks)
	for _, s := range f.Signs {
		b.WriteString("; " + s)
	}
	if why := f.NoPolicy(); why != "" {
		b.WriteString("; " + why)
	}
	return b.String()
}

// inWords describes the requests of conditions: GET /search/** without accept-language.
func inWords(conditions []Condition) string {
	var words []string
	for i := range conditions {
		c := &conditions[i]
		switch name, ofHeaders := strings.CutPrefix(c.Field, "header."); {
		case c.Field == "method" || c.Field == "path":
			words = append(words, plain(c.text()))
		case c.Field == "host":
			words = append(words, "on "+plain(c.text()))
		case c.Field == "client":
			words = append(words, "from "+plain(c.text()))
		case !ofHeaders:
			words = append(words, "of "+c.Field+" "+plain(c.text()))
		case c.Op == Absent:
			words = append(words, "without "+name)
		default:
			words = append(words, "with "+c.Have())
		}
	}
	return strings.Join(words, " ")
}

// Have says the condition behind "have".
func (c *Condition) Have() string {
	name := strings.TrimPrefix(c.Field, "header.")
	switch c.Op {
	case Absent:
		return "no " + name
	case Present:
		return name
	}
	return name + " " + quote(c.text())
}

// text is the value for people.
func (c *Condition) text() string {
	switch {
	case c.Op == Begins && c.Field == "path" && strings.HasSuffix(c.Text, "/"):
		return c.Text + "**"
	case c.Op == Begins:
		return c.Text + "*"
	}
	return c.Text
}

// plain returns text unchanged where safe to read.
func plain(text string) string {
	if strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' || c == '"' }) {
		return quote(text)
	}
	return text
}

// quote returns text in double quotes, ASCII alone: a string of YAML and of JSON's readers.
func quote(text string) string { return strconv.QuoteToASCII(text) }

// Policy returns the finding's policy: an item of a list of policies, called surge-ID. It is "" for
// a finding without a policy.
func (f *Finding) Policy(mode string, until time.Time) string {
	if f.NoPolicy() != "" {
		return ""
	}
	return PolicyOf(f.ID, f.Conditions, mode, until)
}

// PolicyOf is Policy of the conditions of a finding.
func PolicyOf(id string, conditions []Condition, mode string, until time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "- name: surge-%s\n  match:\n", id)
	for i := range conditions {
		c := &conditions[i]
		value := strconv.FormatBool(c.Op == Present)
		if c.Op < Present {
			value = quote(c.Value())
		}
		fmt.Fprintf(&b, "    %s: %s\n", c.Field, value)
	}
	fmt.Fprintf(&b, "  deny: 429\n  mode: %s\n  until: %q\n", mode,
		until.UTC().Format(time.RFC3339))
	return b.String()
}

// percent returns a share for people.
func percent(share float64) string { return number(100*share) + " %" }

// atMost returns an upper bound of a share.
func atMost(share float64) string { return "at most " + percent(share) }

// between returns the bounds of a share.
func between(low, high float64) string {
	if high-low < 0.005 {
		return fmt.Sprintf("%.0f %%", 100*high)
	}
	return fmt.Sprintf("%.0f to %.0f %%", 100*low, 100*high)
}

// number returns x with as many digits as are known.
func number(x float64) string {
	switch {
	case x >= 10:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case x >= 0.1:
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}
