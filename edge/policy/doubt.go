package policy

import (
	"strings"

	"github.com/headgate-dev/headgate/edge/policy/condition"
	"github.com/headgate-dev/headgate/edge/policy/sets"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/mitigation"
)

// Doubts returns the doubtful policies of s, in which Check found no fault.
func Doubts(s *Spec) (list []Fault) {
	for i := range s.Policies {
		p := &s.Policies[i]
		if p.Mode == mitigation.Off {
			continue
		}
		for _, e := range []*condition.Expr{p.Match, p.CountWhen} {
			if e != nil {
				d := doubter{&s.Clients, p, e}
				list = d.look(list, e, p.At)
			}
		}
	}
	return list
}

// doubter looks at a condition of a policy.
type doubter struct {
	clients *request.Clients
	policy  *Policy
	whole   *condition.Expr
}

// look appends the first doubt of each test of e on the path. at is the place of e's policy. A
// spelling making a "not" hold gets round nothing.
func (d *doubter) look(list []Fault, e *condition.Expr, at condition.Pos) []Fault {
	if e.At.Line > 0 {
		at = e.At
	}
	switch {
	case e.Op == condition.OpNot:
	case e.Op != condition.OpTest:
		for _, kid := range e.Kids {
			list = d.look(list, kid, at)
		}
	case e.Test.Field.Kind == condition.Path:
		for i := range e.Test.Wants {
			if code, message := d.doubt(&e.Test.Wants[i]); code != "" {
				return append(list,
					Fault{Pos: at, Message: message, Code: code, Policy: d.policy.Name})
			}
		}
	}
	return list
}

// doubt returns the doubt about a path of the condition; "" without one.
func (d *doubter) doubt(w *condition.Want) (code, message string) {
	p, c := d.policy, d.clients
	limits := p.Deny > 0 || p.Asks()
	switch {
	case limits && c.Raw:
		return "path-raw",
			"clients.path is raw: any other spelling of the path gets round this policy"
	case c.Raw:
	case (p.SkipAll || len(p.Skip) > 0) && strings.Contains(strings.ToLower(w.Text), "%2f"):
		return "path-encoded", "no request is skipped for %2F: a skip holds only if it also " +
			"holds for the path with %2F decoded"
	case limits && w.Kind == condition.WantText && c.Folds&request.FoldSlash == 0 &&
		!strings.HasSuffix(w.Text, "/") && !d.fits(w.Text+"/"):
		return "path-slash", "no request for " + w.Text + "/ fits, which many servers serve " +
			"alike: add that path, or slash to clients.path_fold"
	}
	return "", ""
}

// fits reports whether a test of the condition fits path.
func (d *doubter) fits(path string) (found bool) {
	var r request.Request
	r.SetTarget([]byte(path), d.clients)
	e := d.whole.Resolve(new(request.Names), d.clients, func(string) *sets.Set { return nil })
	e.EachTest(func(e *condition.Expr) {
		found = found || e.Test.Field.Kind == condition.Path &&
			!e.Test.Has(condition.WantSet) && e.Test.Holds(&r)
	})
	return found
}
