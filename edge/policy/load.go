package policy

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/headgate-dev/headgate/edge/policy/condition"
	"github.com/headgate-dev/headgate/edge/policy/sets"
	"github.com/headgate-dev/headgate/mitigation"
)

// Options are the means by which policies are loaded.
type Options struct {
	// Open opens the file of a set.
	Open func(name string) (io.ReadCloser, error)
	// Before is the engine in force, nil for none: sets of unchanged files are kept.
	Before *Engine
	Force  bool     // as if each set had AllowShrink
	Only   string   // of files, the set to read: the others are as before; "": all
	Key    [32]byte // of the digests in keys
	// Of the memory beside the counters: config gives half as much as those have.
	MaxBytes int64     // that the sets may take; 0: 32 MiB
	Rules    []string  // the names of all rules in force, those of policies too
	Pools    []string  // the names of all pools, at most MaxPools
	Now      time.Time // policies that are over then match nothing
}

const defaultMaxBytes = 32 << 20

// Faults is everything wrong with the policies.
type Faults []Fault

// Error returns the faults, a line each.
func (f Faults) Error() string {
	text := ""
	for i, one := range f {
		if i > 0 {
			text += "\n"
		}
		text += one.Error()
	}
	return text
}

// Load makes an Engine of policies in which Check found no fault. The Engine keeps parts of s,
// which must not change. The error is a Faults. Load may read files and take seconds for a million
// entries; requests go on with the old engine meanwhile.
func Load(s *Spec, o Options) (*Engine, error) {
	if o.MaxBytes == 0 {
		o.MaxBytes = defaultMaxBytes
	}
	l := &loader{
		spec: s, options: o, nodeOf: map[string]int32{}, groupOf: map[string]int{},
		keyOf: map[string]int32{}, listOf: map[string]int32{},
	}
	l.engine = &Engine{
		clients: s.Clients, policies: make([]policy, len(s.Policies)),
		digest: newDigester(o.Key), numbers: map[string]*mitigation.Numbers{},
	}
	l.names()
	l.loadSets()
	if len(l.faults) == 0 {
		l.compile()
	}
	if len(l.faults) > 0 {
		return nil, l.faults
	}
	l.engine.bytes, l.engine.entries = l.bytes, l.entries
	return l.engine, nil
}

// loader makes an Engine. For a single Load. The maps by spelling merge equal things.
type loader struct {
	spec    *Spec
	options Options
	engine  *Engine
	faults  Faults
	sets    map[string]*sets.Set
	entries int
	bytes   int64
	cut     bool             // the last line read has no end
	nodeOf  map[string]int32 // nodes by their spelling
	groupOf map[string]int
	keyOf   map[string]int32 // keys by their spelling
	listOf  map[string]int32 // lists of tests by their spelling
}

func (l *loader) fault(f Fault) { l.faults = append(l.faults, f) }

// names collects the headers looked at. All of them before the first condition is resolved, since a
// header has a number from then on.
func (l *loader) names() {
	e := l.engine
	if h := e.clients.Header; h != "" {
		e.names.Add(h)
	}
	for _, text := range l.spec.ShedBy {
		part, _ := ParseKeyPart(text) // the configuration has checked it
		for i := range part {
			l.name(part[i].field)
		}
	}
	for i := range l.spec.Policies {
		for _, f := range l.spec.Policies[i].fields() {
			l.name(f)
		}
	}
}

// name notes the part of a request in which f is looked up.
func (l *loader) name(f condition.Field) {
	if h := f.HeaderName(); h != "" {
		l.engine.names.Add(h)
	}
	l.engine.names.Target = l.engine.names.Target ||
		f.Kind == condition.Path || f.Kind == condition.Query
}

func (l *loader) number(f condition.Field) int { return f.HeaderIn(&l.engine.names) }

// compile makes conditions of policies, and the tables of conditions.
func (l *loader) compile() {
	l.numberRules()
	e := l.engine
	for i := range l.spec.Policies {
		if err := l.policy(i); err != nil {
			l.fault(Fault{Pos: l.spec.Policies[i].At, Message: err.Error()})
		}
	}
	// All conditions are known by now, so every set has the final size.
	e.words = (len(e.conds) + 63) / 64
	// The table of networks turned out too large: once more, without.
	if !l.index(true) {
		l.index(false)
	}
	// Counted after the merge of equal conditions: a thousand policies with the same ten tests have
	// ten.
	if len(e.nodes) > MaxTests {
		l.fault(Fault{
			Pos:     condition.Pos{Line: 1, Col: 1, Path: "policies"},
			Message: "the policies have more than 4096 different tests",
		})
		return
	}
	for i := range e.conds {
		l.needs(i)
	}
	l.engine.settles = l.engine.settler()
	l.steps()
	if len(e.keys) > MaxPolicies {
		l.fault(Fault{
			Pos:     condition.Pos{Line: 1, Col: 1, Path: "policies"},
			Message: fmt.Sprintf("the policies count by more than %d different keys", MaxPolicies),
		})
	}
}

// needs notes condition i with the needed tests, the cheapest first.
func (l *loader) needs(i int) {
	e := l.engine
	c := &e.conds[i]
	if len(c.held) > maxHeld {
		l.fault(Fault{Pos: l.spec.Policies[c.policy].At, Message: "count_when joins more than 64 " +
			"tests of the request with tests of the response"})
	}
	slices.SortStableFunc(c.residual,
		func(a, b int32) int { return e.nodes[a].effort() - e.nodes[b].effort() })
	for _, id := range c.residual {
		n := &e.nodes[id]
		if n.needs == nil {
			n.needs = newBitset(e.words)
		}
		n.needs.Add(i)
	}
}

// policy compiles policy i.
func (l *loader) policy(i int) error {
	spec := &l.spec.Policies[i]
	p := &l.engine.policies[i]
	*p = policy{
		Policy: spec, match: -1, count: -1, group: -1, cost: spec.Cost,
		tier: []byte(spec.Tier), pool: slices.Index(l.options.Pools, spec.Pool),
	}
	p.cost.number, p.cost.estimate = l.number(p.cost.Of), l.number(p.cost.EstimateOf)
	for _, name := range spec.Rules {
		p.rules = append(p.rules, l.rule(name))
		p.rules[len(p.rules)-1].burst = spec.Burst
	}
	for _, r := range spec.Own {
		p.rules = append(p.rules, l.rule(r.Name))
	}
	// The configuration gave the rules before; a test, or a reload between two steps, may not have.
	if slices.ContainsFunc(p.rules, func(r askedRule) bool { return r.index < 0 }) {
		return errors.New("asks a rule that is not in force")
	}
	if spec.Pool != "" && (p.pool < 0 || p.pool >= MaxPools) {
		return errors.New("names a pool that does not exist")
	}
	if spec.Group != "" {
		number, ok := l.groupOf[spec.Group]
		if !ok {
			number = len(l.groupOf)
			l.groupOf[spec.Group] = number
		}
		p.group = number
	}
	for j := range l.spec.Policies {
		if slices.Contains(spec.Skip, l.spec.Policies[j].Name) {
			p.skips = append(p.skips, j)
		}
	}
	l.tiers(p)
	p.terms = l.resolveAll(spec.Match)
	// A policy in mode off has rules, so counts and blocks are kept, and no condition, so requests
	// pay nothing. So has a policy that is over.
	if p.off = spec.Mode == mitigation.Off || spec.Over(l.options.Now); p.off {
		return nil
	}
	p.match = l.cond(i, false, p.terms)
	if spec.CountWhen != nil {
		p.countTerms = l.resolveAll(spec.CountWhen)
		p.count = l.cond(i, true, p.countTerms)
	}
	return nil
}

func (l *loader) rule(name string) askedRule {
	return askedRule{index: slices.Index(l.options.Rules, name), name: []byte(name)}
}

// tiers finds for each word of the table which of the policy's rules has the numbers.
func (l *loader) tiers(p *policy) {
	t := p.Tiers
	if t == nil {
		return
	}
	p.table = l.sets[t.Table]
	p.of, p.ofNumber = t.Of, l.number(t.Of)
	p.standard = slices.Index(t.Names, t.Default)
	p.numbers, p.places = numbers(t.Table, p.table, p.cost.Scale)
	for i, word := range p.table.Words() {
		at := slices.Index(t.Names, word)
		if at >= 0 {
			p.places[i] = -1
		} else if p.places[i] >= 0 {
			at = p.standard
		}
		p.ruleOf = append(p.ruleOf, at)
	}
	if len(p.numbers.List) == 0 {
		p.numbers = nil
	} else if p.standard >= 0 && l.take(p.At, numberBytes*len(p.numbers.List)) {
		l.engine.numbers[string(p.rules[p.standard*p.stride].name)] = p.numbers
	}
}

// resolveAll returns the conjuncts of e with headers and sets resolved. e does not change.
func (l *loader) resolveAll(e *condition.Expr) []*condition.Expr {
	var list []*condition.Expr
	for _, c := range e.Conjuncts() {
		list = append(list, c.Resolve(&l.engine.names, &l.engine.clients,
			func(name string) *sets.Set { return l.sets[name] }))
	}
	return list
}
