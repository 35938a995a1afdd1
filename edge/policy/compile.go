package policy

import (
	"slices"

	"github.com/headgate-dev/headgate/edge/policy/condition"
	"github.com/headgate-dev/headgate/edge/policy/sets"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/mitigation"
)

// policy is a Policy made ready.
type policy struct {
	*Policy
	cost Cost
	// With a table of tiers there is a group of stride rules for each tier, the policy's own first
	// and the ladder's behind.
	rules        []askedRule
	stride       int    // how many of them are of the same tier
	match, count int    // conditions, or -1
	group        int    // or -1
	asks         uint16 // its number among those that ask
	skips        []int
	table        *sets.Set // of tiers
	of           condition.Field
	ofNumber     int
	// A word of the table with no number in this policy's limit leads to -1: another policy may use
	// the table with more tiers.
	ruleOf            []int // by the number of a word: which of rules, or -1
	places            []int // likewise: the place of the number in numbers, or -1
	numbers           *mitigation.Numbers
	standard          int // which of rules without a word
	tier              []byte
	pool              int // or -1
	off               bool
	terms, countTerms []*condition.Expr
}

// askedRule is a rule a policy asks.
type askedRule struct {
	index int
	name  []byte
	burst int64 // Policy.Burst
	// For such a rule the search for an equal question is left out.
	once bool // no other policy asks it, so no question equals one of it

	// By number rather than by value, so equal keys of several policies are built once a request.
	key      int32 // in Engine.keys
	draw     int32 // in Engine.keys: by which its drop ratio is drawn; noKey: each request
	narrower int32 // that of the level of the ladder before it; noKey: there is none
}

// cond is the condition match or count_when of a policy. A policy has a condition for match and, if
// given, for count_when; bit i of a set of conditions is number i here.
type cond struct {
	policy   int
	counts   bool
	terms    []*condition.Expr
	residual []int32 // nodes that must hold, besides the tables
	later    []*rest // terms that look at the response
	// At most 64, a bit each of Pending.Held.
	held []int32 // nodes that later's terms need of the request
}

// testList is the tests a condition needs, and perhaps others needing the same. Policies tend to
// repeat themselves (host and path in the tables, the same two headers beside): a list holding once
// holds for all conditions sharing it.
type testList struct {
	nodes    []int32
	volatile bool // one of them is
}

// node is a term, or part of a term, for several conditions. Equal terms are a single node however
// often written, and each is evaluated at most once a request.
type node struct {
	op       condition.Op
	kids     []int32
	test     *condition.Test
	volatile bool   // looks at the tier, which may change while policies are walked through
	needs    bitset // conditions that fall where it does not hold
}

// effort orders nodes: longer tests come later. A test failing early spares the dear tests: a
// comparison of a few bytes comes before the search for a header, a search before a combination, a
// regular expression last.
func (n *node) effort() int {
	switch {
	case n.op != condition.OpTest:
		return 2
	case n.test.Has(condition.WantRegexp):
		return 3
	case n.test.Field.Kind >= condition.Header:
		return 1
	}
	return 0
}

// maxHeld is how many nodes a condition's terms on the response may need of the request.
const maxHeld = 64

// rest is a term on the response. The needed part of the request is a bit of held. rest mirrors the
// term, with the parts the request alone decides replaced by the outcome.
type rest struct {
	op   condition.Op
	kids []*rest
	test *condition.Test
	bit  int // -1: test
}

// cond adds a condition and returns the number.
func (l *loader) cond(policy int, counts bool, terms []*condition.Expr) int {
	l.engine.conds = append(l.engine.conds, cond{policy: policy, counts: counts, terms: terms})
	return len(l.engine.conds) - 1
}

// node returns the number of the node of e, the same for equal expressions. Equal means equal in
// spelling, after the texts were brought to their usual form.
func (l *loader) node(e *condition.Expr) int32 {
	spelling := e.Spelling()
	if id, ok := l.nodeOf[spelling]; ok {
		return id
	}
	n := node{op: e.Op, test: e.Test, volatile: e.UsesTier()}
	for _, kid := range e.Kids {
		n.kids = append(n.kids, l.node(kid))
	}
	l.engine.nodes = append(l.engine.nodes, n)
	// Kids come before the node needing kids, so all have numbers.
	id := int32(len(l.engine.nodes) - 1) // bounded by MaxTests
	l.nodeOf[spelling] = id
	return id
}

// rest makes the part of condition c waiting for the response.
func (l *loader) rest(c *cond, e *condition.Expr) *rest {
	if !e.UsesResponse() {
		id := l.node(e)
		bit := slices.Index(c.held, id)
		if bit < 0 {
			bit = len(c.held)
			c.held = append(c.held, id)
		}
		return &rest{bit: bit}
	}
	r := &rest{op: e.Op, test: e.Test, bit: -1}
	for _, kid := range e.Kids {
		r.kids = append(r.kids, l.rest(c, kid))
	}
	return r
}

// holds reports whether the term holds after the response in r, held being the bits of the request
// it needs.
func (t *rest) holds(held uint64, r *request.Request) bool {
	switch {
	case t.bit >= 0:
		return held>>t.bit&1 == 1
	case t.op == condition.OpTest:
		return t.test.Holds(r)
	case t.op == condition.OpNot:
		return !t.kids[0].holds(held, r)
	case t.op == condition.OpOr:
		return slices.ContainsFunc(t.kids, func(kid *rest) bool { return kid.holds(held, r) })
	}
	return !slices.ContainsFunc(t.kids, func(kid *rest) bool { return !kid.holds(held, r) })
}

// indexed says which tables a condition is in. A term of each kind can go into the table; a second
// term on the same field is a test.
type indexed struct{ method, host, path, client bool }

// index makes the tables. False: the networks of clients are too many; withClients says whether to
// make a table of them. A condition without a term on the host holds for any host as far as the
// table of hosts goes: it is in that table's Any.
func (l *loader) index(withClients bool) bool {
	e := l.engine
	e.methods, e.hosts = newTexts(e.words), newTexts(e.words)
	e.paths = &paths{[]pathNode{{here: newBitset(e.words)}}, e.words}
	anyPath, anyClient := newBitset(e.words), newBitset(e.words)
	// Several policies for the same list of networks share the entries of the table.
	groups := groups{of: map[string]*group{}}
	for i := range e.conds {
		c := &e.conds[i]
		// Possibly the second time: see compile.
		c.residual, c.later, c.held = nil, nil, nil
		var in indexed
		for _, term := range c.terms {
			switch {
			case term.UsesResponse():
				c.later = append(c.later, l.rest(c, term))
			case !l.table(term, i, &in, withClients, &groups):
				c.residual = append(c.residual, l.node(term))
			}
		}
		for _, t := range []struct {
			in  bool
			any bitset
		}{
			{in.method, e.methods.Any},
			{in.host, e.hosts.Any},
			{in.path, anyPath},
			{in.client, anyClient},
		} {
			if !t.in {
				t.any.Add(i)
			}
		}
	}
	e.methods.Finish()
	e.hosts.Finish()
	e.paths.Finish(anyPath)
	var ok bool
	e.networks, ok = newNetworks(groups.list, anyClient)
	if ok || !withClients {
		l.bytes += e.networks.Bytes()
	}
	return ok
}

// groups are the networks that conditions want the client in, by spelling.
type groups struct {
	of   map[string]*group
	list []*group
}

// table enters term of condition cond into a table, and reports whether the entry says all. A
// pattern of a path such as /a/*/b is found by the first segments, and is a test as well: the table
// is wider then and never narrower.
func (l *loader) table(
	term *condition.Expr, cond int, in *indexed, withClients bool, groups *groups,
) bool {
	if term.Op != condition.OpTest {
		return false
	}
	e, t := l.engine, term.Test
	switch {
	case t.Field.Kind == condition.Method && !in.method && t.Only(condition.WantText):
		in.method = true
		e.methods.Add(t.Wants, cond)
		return true
	case t.Field.Kind == condition.Host && !in.host && t.Only(condition.WantText,
		condition.WantHost):
		in.host = true
		e.hosts.Add(t.Wants, cond)
		return true
	case t.Field.Kind == condition.Path && !in.path && t.Only(condition.WantText,
		condition.WantPath, condition.WantPrefix):
		in.path = true
		for i := range t.Wants {
			e.paths.Add(&t.Wants[i], cond)
		}
		return !slices.ContainsFunc(t.Wants, func(w condition.Want) bool {
			return w.Kind == condition.WantPath && !w.Path.IsPlain()
		})
	// The table of networks is a tree cut where prefixes begin and end: with very many lists the
	// tree would take too much memory, and addresses are tested list by list instead.
	case t.Field.Kind == condition.Client && !in.client && withClients &&
		t.Only(condition.WantNet, condition.WantSet):
		in.client = true
		l.group(term, groups).Conds.Add(cond)
		return true
	}
	return false
}

// group returns the group of term's networks.
func (l *loader) group(term *condition.Expr, groups *groups) *group {
	spelling := term.Spelling()
	if g, ok := groups.of[spelling]; ok {
		return g
	}
	g := &group{Conds: newBitset(l.engine.words)}
	wants := term.Test.Wants
	if g.Named = len(wants) == 1 && wants[0].Kind == condition.WantSet; g.Named {
		g.Nets = l.sets[wants[0].Text]
	} else {
		g.Nets = l.union(wants)
	}
	groups.of[spelling] = g
	groups.list = append(groups.list, g)
	return g
}

// union returns the set of the addresses of wants.
func (l *loader) union(wants []condition.Want) *sets.Set {
	var r sets.Ranges
	for i := range wants {
		if w := &wants[i]; w.Kind == condition.WantSet {
			r.AddSet(l.sets[w.Text])
		} else {
			r.Add(w.Net)
		}
	}
	return r.Set()
}
