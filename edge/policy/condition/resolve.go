package condition

import (
	"slices"

	"github.com/headgate-dev/headgate/edge/policy/sets"
	"github.com/headgate-dev/headgate/edge/request"
)

// Pos is a place in the configuration file.
type Pos struct {
	Line, Col int    // from 1
	Path      string // such as policies[2].key
}

// Resolve returns a copy of e with headers by number in names, sets by set, which must know each
// set, and paths compared in c's form. Only the copy may be evaluated. A copy, because the tree of
// the configuration is kept for the next reload, whose headers have other numbers.
func (e *Expr) Resolve(
	names *request.Names, c *request.Clients, set func(name string) *sets.Set,
) *Expr {
	out := *e
	if e.Op == OpTest {
		t := *e.Test
		t.number = t.Field.HeaderIn(names)
		t.Wants = slices.Clone(t.Wants)
		for i := range t.Wants {
			w := &t.Wants[i]
			w.number = w.field.HeaderIn(names)
			if w.Kind == WantSet {
				w.set = set(w.Text)
			}
			if t.Field.Kind == Path {
				w.asPath(c)
			}
		}
		out.Test = &t
		return &out
	}
	out.Kids = make([]*Expr, len(e.Kids))
	for i, kid := range e.Kids {
		out.Kids[i] = kid.Resolve(names, c, set)
	}
	return &out
}

// HeaderIn returns the number of the field's header in names, or -1.
func (f Field) HeaderIn(names *request.Names) int { return names.Index([]byte(f.HeaderName())) }

// Only reports whether all wants are of kinds.
func (t *Test) Only(kinds ...WantKind) bool {
	return !slices.ContainsFunc(t.Wants,
		func(w Want) bool { return !slices.Contains(kinds, w.Kind) })
}
