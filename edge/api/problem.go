package api

import "net/http"

// MaxNameShown is the most bytes of a name chosen by a client that an answer repeats.
const MaxNameShown = 64

// Problem is a fault of a request, in the terms of RFC 9457. Nothing was counted or changed for the
// request. It is an error whose text is the parameter and the detail.
type Problem struct {
	Status    int    // of HTTP
	Parameter string // the part of the request that is wrong; empty: Detail stands alone
	Detail    string // begins with a verb: "is missing"
	Whole     bool   // the parameter is no part of a single check
	Unknown   bool   // the parameter names a rule that is not in force
}

// Error returns the parameter and the detail.
func (p *Problem) Error() string { return p.Parameter + " " + p.Detail }

// BadParameter returns the problem of a parameter that is missing, malformed or out of range: 400.
func BadParameter(parameter, detail string) *Problem {
	return &Problem{Status: http.StatusBadRequest, Parameter: parameter, Detail: detail}
}

// GivenTwice returns the problem of a parameter that may be given once: 400.
func GivenTwice(parameter string) *Problem { return BadParameter(parameter, "is given twice") }

// UnknownRule returns the problem of a parameter that names a rule that is not in force: 404.
func UnknownRule(parameter string) *Problem {
	return &Problem{Status: http.StatusNotFound, Parameter: parameter, Detail: "names no rule", Unknown: true}
}

// Shown returns the first MaxNameShown bytes of a name that a client chose, and "" in quotes for an
// empty one.
func Shown(name []byte) string {
	if len(name) == 0 {
		return `""`
	}
	return string(name[:min(len(name), MaxNameShown)])
}
