package policy

import (
	"slices"
	"strings"

	"github.com/headgate-dev/headgate/edge/policy/condition"
	"github.com/headgate-dev/headgate/mitigation"
)

// Tables in files are read at the load, at every reload; those in the configuration itself here.
func (c *checker) tiers(p *Policy) {
	t := p.Tiers
	if t == nil {
		return
	}
	at := under(p, "tiers")
	if t.Plain {
		at = under(p, "numbers")
	}
	if t.Of.OfResponse() {
		c.fault(at, "cannot go by the response: the tier is needed before it")
	}
	if t.Table == "" {
		return // a fault already
	}
	table := c.table(at, t.Table)
	if t.Default != "" && !slices.Contains(t.Names, t.Default) {
		c.fault(at, "the default tier %.64q has no number in limit%s", t.Default,
			c.hint(t.Default, t.Names))
	}
	if table == nil || table.Kind != Table {
		return
	}
	if u, ok := p.user(); ok {
		c.words(at, table, &u)
	}
}

// words finds words of a table in the configuration itself that say nothing to u: a fault for a
// word, however often.
func (c *checker) words(at condition.Pos, table *Set, u *tableUser) {
	found := map[string]bool{}
	for _, e := range table.Entries {
		err := u.check(e.Word)
		switch {
		case err == nil || found[e.Word]:
			continue
		case u.tiers != nil && !isNumber(e.Word):
			c.fault(at, "tier %.64q of @%.64s has no number in limit", e.Word, table.Name)
		default:
			c.fault(at, "@%.64s: %v", table.Name, err)
		}
		found[e.Word] = true
	}
}

// table returns the table called name.
func (c *checker) table(at condition.Pos, name string) *Set {
	var known []string
	for i := range c.spec.Sets {
		s := &c.spec.Sets[i]
		if s.Kind == Table || s.Kind == TableFile {
			known = append(known, s.Name)
		}
		if s.Name != name {
			continue
		}
		if s.Kind != Table && s.Kind != TableFile {
			c.fault(at, "@%.64s has no tier beside its values: it must be a table", name)
			return nil
		}
		return s
	}
	c.fault(at, "there is no table %.64q%s", name, c.hint(name, known))
	return nil
}

// reachable finds policies without requests, because of an earlier policy. Covers proves, by the
// texts of the conditions, which is wider. Covers may miss a case and never invents a case, so a
// report is certain.
func (c *checker) reachable(number int) {
	p := &c.spec.Policies[number]
	if p.Mode == mitigation.Off {
		return
	}
	for i := range number {
		earlier := &c.spec.Policies[i]
		if earlier.Mode == mitigation.Off || !earlier.Until.IsZero() ||
			!condition.Covers(c.matches[i], c.matches[number]) {
			continue
		}
		// A policy whose count_when selects other requests is reached by such requests, whatever
		// happens to the requests of its match.
		ends := (earlier.SkipAll || earlier.Deny > 0) && earlier.Mode == mitigation.Enforce
		counted := p.CountWhen != nil && !condition.Covers(c.matches[i], c.resolved(p.CountWhen))
		switch {
		case ends && !counted:
			c.fault(p.At, "no request reaches policy %q: %q on line %d takes them all", p.Name,
				earlier.Name, earlier.At.Line)
			return
		case earlier.Group != "" && earlier.Group == p.Group && earlier.Asks() && !counted:
			c.fault(p.At, "policy %q never asks: of group %s only the first that matches does, "+
				"and %q on line %d is wider; write the narrower one first",
				p.Name, p.Group, earlier.Name, earlier.At.Line)
			return
		}
	}
}

// headers checks how many headers are named. A request keeps the values of these headers and no
// others, in an array of this many places: doors copy nothing no policy asks for.
func (c *checker) headers() {
	names := map[string]bool{}
	for i := range c.spec.Policies {
		p := &c.spec.Policies[i]
		for _, f := range p.fields() {
			if name := f.HeaderName(); name != "" && !names[name] {
				if names[name] = true; len(names) == MaxHeaders+1 {
					c.fault(p.At, "all policies together look at most at %d headers; here %.64s "+
						"is one more", MaxHeaders, strings.ToLower(name))
				}
			}
		}
	}
}
