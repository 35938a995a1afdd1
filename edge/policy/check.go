package policy

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/headgate-dev/headgate/edge/policy/condition"
	"github.com/headgate-dev/headgate/edge/policy/sets"
	"github.com/headgate-dev/headgate/edge/request"
)

// Check returns everything wrong with the policies no single value shows. rules are the names of
// the rules beside those that policies make; hint returns a suggestion for a wrong name, or "".
// Faults are of a configuration and not of a request: a policy that can never act is as wrong as an
// unknown name, and harder to notice.
func (s *Spec) Check(rules []string, hint func(wrong string, known []string) string) []Fault {
	c := &checker{spec: s, rules: rules, hint: hint, policies: map[string]*Policy{}}
	for i := range s.Policies {
		p := &s.Policies[i]
		if p.Name != "" {
			c.policies[p.Name] = p
		}
	}
	for i := range s.Policies {
		c.matches = append(c.matches, c.resolved(s.Policies[i].Match))
		c.policy(&s.Policies[i])
		c.reachable(i)
	}
	for i := range s.Numbered {
		r := &s.Numbered[i]
		if t := c.table(r.At, r.Numbers.Set); t != nil {
			u := tableUser{rule: &r.Rule}
			c.words(r.At, t, &u)
		}
	}
	c.headers()
	return c.faults
}

// resolved returns e with the paths requests have.
func (c *checker) resolved(e *condition.Expr) *condition.Expr {
	if e == nil {
		return nil
	}
	return e.Resolve(new(request.Names), &c.spec.Clients, func(string) *sets.Set { return nil })
}

// The check goes on after a fault, so a single reading of the file shows them all.
type checker struct {
	spec     *Spec
	rules    []string
	hint     func(string, []string) string
	policies map[string]*Policy
	matches  []*condition.Expr // of the policies so far, resolved
	faults   []Fault
}

func (c *checker) fault(at condition.Pos, format string, args ...any) {
	c.faults = append(c.faults, Fault{Pos: at, Message: fmt.Sprintf(format, args...)})
}

// under returns the place of p with the name of the field.
func under(p *Policy, field string) condition.Pos {
	at := p.At
	at.Path += "." + field
	return at
}

// A policy's rules are called as the policy, so a policy and a rule of the same name would be
// counted together.
func (c *checker) policy(p *Policy) {
	c.condition(p, p.Match, "match")
	c.condition(p, p.CountWhen, "count_when")
	if p.Match.UsesResponse() {
		c.fault(under(p, "match"), "cannot look at the response: status and response.* belong in "+
			"count_when")
	}
	for _, alternatives := range p.Key.Parts {
		for i := range alternatives {
			if part := &alternatives[i]; part.set != "" {
				c.set(under(p, "key"), part.set, part.field.IsAddress())
			}
		}
	}
	c.names(p)
	c.ladder(p)
	c.shedBy(p)
	c.pool(p)
	c.tiers(p)
	if p.Name != "" && slices.Contains(c.rules, p.Name) && !slices.Contains(p.Rules, p.Name) {
		c.fault(under(p, "name"), "%q is the name of a rule: a policy has it only if its rules "+
			"name that rule", p.Name)
	}
}

// condition checks the sets a condition names, and the paths.
func (c *checker) condition(p *Policy, e *condition.Expr, field string) {
	e.EachTest(func(e *condition.Expr) {
		at := e.At
		// Tests inside a "when" have no place of their own.
		if at.Line == 0 {
			at = under(p, field)
		}
		for i := range e.Test.Wants {
			w := &e.Test.Wants[i]
			switch {
			case w.Kind == condition.WantSet:
				c.set(at, w.Text, e.Test.Field.IsAddress())
			case e.Test.Field.Kind == condition.Path && !c.spec.Clients.Raw:
				c.path(at, w)
			}
		}
	})
}

// path checks that a request can have the path that w is for. A policy for /a//b never matches, as
// the path of a request for /a//b is compared as /a/b. A text of a match map may have escapes; one
// of "when" is compared byte by byte with a plain path.
func (c *checker) path(at condition.Pos, w *condition.Want) {
	const never = "no request has the path %.64q: paths are compared decoded, without empty " +
		"segments and dots; write %.64q"
	sent, decoded := new(request.Clients).Readings(w.Text)
	text, err := url.PathUnescape(w.Text)
	switch {
	case w.Kind == condition.WantRegexp:
	case w.Loose && err == nil && decoded != text:
		c.fault(at, never, w.Text, decoded)
	case w.Loose:
	case c.spec.Clients.Folds&request.FoldCase != 0 &&
		strings.ContainsAny(w.Text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"):
		c.fault(at, "no request has a path with %.64q: clients.path_fold has case, so paths are "+
			"compared in lower case", w.Text)
	case w.Kind == condition.WantText && strings.HasPrefix(w.Text, "/") && sent != w.Text:
		c.fault(at, never, w.Text, sent)
	}
}

// set checks that there is a set called name, and that it holds addresses or does not.
// client: "@paths" would never hold, as addresses are compared with addresses only; in a key it
// would be absent for everybody.
func (c *checker) set(at condition.Pos, name string, addresses bool) {
	var known []string
	for i := range c.spec.Sets {
		s := &c.spec.Sets[i]
		known = append(known, s.Name)
		if s.Name != name {
			continue
		}
		switch {
		case s.Addresses() && !addresses:
			c.fault(at, "@%s holds addresses: it is for client and peer", name)
		case !s.Addresses() && addresses:
			c.fault(at, "@%s holds values, not addresses", name)
		}
		return
	}
	c.fault(at, "there is no set %.64q%s", name, c.hint(name, known))
}

// names checks the rules and policies named by p.
func (c *checker) names(p *Policy) {
	for i, name := range p.Rules {
		if !slices.Contains(c.rules, name) {
			c.fault(under(p, fmt.Sprintf("rules[%d]", i)), "there is no rule %.64q%s", name,
				c.hint(name, c.rules))
		}
	}
	for i, name := range p.Skip {
		other, ok := c.policies[name]
		at := under(p, fmt.Sprintf("skip[%d]", i))
		switch {
		case !ok:
			known := make([]string, len(c.spec.Policies))
			for j := range c.spec.Policies {
				known[j] = c.spec.Policies[j].Name
			}
			c.fault(at, "there is no policy %.64q%s", name, c.hint(name, known))
		// The order of the file is the order of asking.
		case other.At.Line < p.At.Line:
			c.fault(at, "policy %.64q stands above and has asked already: write the policy that "+
				"skips it first", name)
		case !other.Asks():
			c.fault(at, "policy %.64q asks no rule, so there is nothing to skip", name)
		}
	}
}

// pool checks that there is a pool of p's name.
func (c *checker) pool(p *Policy) {
	if p.Pool != "" && !slices.Contains(c.spec.Pools, p.Pool) {
		c.fault(under(p, "pool"), "there is no pool %q%s", p.Pool, c.hint(p.Pool, c.spec.Pools))
	}
}

// fields returns all fields p looks at.
func (p *Policy) fields() []condition.Field {
	var list []condition.Field
	add := func(e *condition.Expr) {
		list = append(list, e.Test.Field, e.Test.Other())
	}
	p.Match.EachTest(add)
	p.CountWhen.EachTest(add)
	for _, part := range slices.Concat(p.Key.Parts...) {
		list = append(list, part.field)
	}
	for i := range p.Own {
		// A rule may draw by a header no key has.
		part, _ := ParseKeyPart(p.Own[i].ShedBy) // "" has none
		for j := range part {
			list = append(list, part[j].field)
		}
	}
	list = append(list, p.Cost.Of, p.Cost.EstimateOf)
	if p.Tiers != nil {
		list = append(list, p.Tiers.Of)
	}
	return list
}
