package policy

import (
	"github.com/headgate-dev/headgate/edge/policy/condition"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/mitigation"
)

// Trace says of a policy whether it matches a request. For people: test-request and explain show
// which term of which policy it was.
type Trace struct {
	Policy  int
	Off     bool
	Matches bool
	Failed  *condition.Expr // the first term of match that does not hold; nil where it matches
	Counts  bool            // count_when holds, as far as the request says
	Later   bool            // count_when also looks at the response
}

// Trace looks at all policies in turn, unlike Evaluate, and lists the results. After a policy
// ending the evaluation none follows. Of a path with two readings a policy matches either; a policy
// with nothing but a skip, or note a tier, matches both.
func (e *Engine) Trace(r *request.Request) []Trace {
	long := e.trace(r)
	if r.Decoded == nil {
		return long
	}
	sent := r.Path
	r.Path = r.Decoded
	short := e.trace(r)
	r.Path = sent
	if len(long) < len(short) {
		long, short = short, long
	}
	for i := range short {
		p, t := &e.policies[i], &long[i]
		both := p.SkipAll || len(p.Skip) > 0 || p.Tier != "" && p.Pool == "" && !p.Asks()
		if t.Matches == both {
			*t = short[i]
		}
		t.Counts, t.Later = t.Counts || short[i].Counts, t.Later || short[i].Later
		if t.Matches && p.Deny > 0 && p.Mode == mitigation.Enforce {
			return long[:i+1]
		}
	}
	return long
}

// trace is Trace for the path r.Path. Without tables and sharing, so tests hold Evaluate against
// trace as well.
func (e *Engine) trace(r *request.Request) []Trace {
	tier := r.Tier
	defer func() { r.Tier = tier }()
	list := make([]Trace, 0, len(e.policies))
	for i := range e.policies {
		p := &e.policies[i]
		t := Trace{Policy: i, Off: p.off}
		t.Failed = firstFailed(p.terms, r)
		t.Matches = !t.Off && t.Failed == nil
		t.Counts, t.Later = t.Matches, false
		if p.CountWhen != nil {
			t.Counts, t.Later = p.countsSoFar(r)
		}
		list = append(list, t)
		if !t.Matches || p.Mode != mitigation.Enforce {
			continue
		}
		if p.Tier != "" {
			r.Tier = p.tier
		}
		if p.SkipAll || p.Deny > 0 {
			break
		}
	}
	return list
}

// firstFailed returns the first failing of terms, or nil.
func firstFailed(terms []*condition.Expr, r *request.Request) *condition.Expr {
	for _, t := range terms {
		if !t.Holds(r) {
			return t
		}
	}
	return nil
}

// countsSoFar reports whether the terms of count_when on the request alone hold, and whether there
// are others.
func (p *policy) countsSoFar(r *request.Request) (counts, later bool) {
	counts = !p.off
	for _, t := range p.countTerms {
		if t.UsesResponse() {
			later = true
		} else {
			counts = counts && t.Holds(r)
		}
	}
	return counts, later
}
