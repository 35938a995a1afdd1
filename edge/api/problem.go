package api

import (
	"iter"
	"net/http"
	"strings"
)

// MaxNameShown is the most bytes of a name chosen by a client an answer repeats.
const MaxNameShown = 64

// Problem is a fault of a request, in the terms of RFC 9457. Nothing was counted or changed for the
// request. An error whose text is the parameter and the detail. Doors of other protocols take its
// status, or only the presence: the words are for people.
type Problem struct {
	Status    int    // of HTTP
	Parameter string // the part of the request that is wrong; empty: Detail stands alone
	Detail    string // begins with a verb: "is missing"
	Whole     bool   // the parameter is no part of a single check
	Unknown   bool   // the parameter names a rule that is not in force
}

// Error returns the parameter and the detail.
func (p *Problem) Error() string { return p.Parameter + " " + p.Detail }

// NewProblem returns a problem of part of a request, answered with that status.
func NewProblem(status int, parameter, detail string) *Problem {
	return &Problem{Status: status, Parameter: parameter, Detail: detail}
}

// BadParameter returns the problem of a parameter missing, malformed or out of range: 400.
func BadParameter(parameter, detail string) *Problem {
	return NewProblem(http.StatusBadRequest, parameter, detail)
}

// GivenTwice returns the problem of a single parameter given again: 400.
func GivenTwice(parameter string) *Problem { return BadParameter(parameter, "is given twice") }

// NotThere returns the problem of a name of something, such as a pool: 404.
func NotThere(parameter, name string) *Problem {
	return NewProblem(http.StatusNotFound, parameter,
		"there is no "+parameter+" "+Shown([]byte(name)))
}

// Conflict returns the problem of a parameter that cannot be done as things are: 409.
func Conflict(parameter, text string) *Problem {
	return NewProblem(http.StatusConflict, parameter, text)
}

// UnknownRule returns the problem of a parameter whose value, name, is not one of the rules in
// force: 404. It repeats at most MaxNameShown bytes of name, escaped, and suggests the nearest
// rule. The suggestion is worth a search: a request for such a rule passes at a proxy failing open.
func UnknownRule(parameter string, name []byte, rules iter.Seq[string]) *Problem {
	p := &Problem{Status: http.StatusNotFound, Parameter: parameter, Unknown: true}
	shown := EscapeKey(name[:min(len(name), MaxNameShown)])
	if len(name) > MaxNameShown {
		shown += "…"
	}
	p.Detail = `"` + shown + `" is not a rule of this node`
	if near := Nearest(string(name[:min(len(name), MaxWord+1)]), rules); near != "" {
		p.Detail += `; did you mean "` + near + `"?`
	}
	return p
}

// Shown returns the first MaxNameShown bytes of a name a client chose, and "" in quotes for an
// empty one.
func Shown(name []byte) string {
	if len(name) == 0 {
		return `""`
	}
	return string(name[:min(len(name), MaxNameShown)])
}

// Lines returns the lines of err's text for a log or a list, each with unprintable bytes escaped. A
// configuration's faults are a single error of many lines, for a log line by line.
func Lines(err error) []string {
	lines := strings.Split(strings.TrimRight(err.Error(), "\n"), "\n")
	for i, line := range lines {
		lines[i] = EscapeKey([]byte(strings.ReplaceAll(line, "\t", "  ")))
	}
	return lines
}
