package policy

import (
	"cmp"
	"slices"
	"time"

	"github.com/headgate-dev/headgate/edge/policy/condition"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
)

// maxFailures is how many failures a day of a key are few: nobody finds a password with them.
const maxFailures = 1000

// Lint returns doubtful policies and sets of s, in which Check found no fault. rules are the rules
// beside those of policies.
func Lint(s *Spec, rules []mitigation.Rule) []Fault {
	l := &linter{checker: checker{spec: s}, rules: map[string]*mitigation.Rule{}}
	for i := range rules {
		l.rules[rules[i].Name] = &rules[i]
	}
	for i := range s.Policies {
		l.matches = append(l.matches, l.resolved(s.Policies[i].Match))
	}
	l.sets()
	for i := range s.Policies {
		p := &s.Policies[i]
		if p.Mode == mitigation.Off || !p.Asks() {
			continue
		}
		l.cost(p)
		l.failures(p)
		l.binds(i)
		l.beyond(i)
		l.chosen(i)
	}
	return l.faults
}

// linter looks for what a single value does not show.
type linter struct {
	checker
	rules map[string]*mitigation.Rule
}

func (l *linter) warn(at condition.Pos, code, policy, format string, args ...any) {
	l.fault(at, format, args...)
	last := &l.faults[len(l.faults)-1]
	last.Code, last.Policy = code, policy
}

// asked returns the rules that p asks, without the levels of a ladder.
func (l *linter) asked(p *Policy) (all []*mitigation.Rule) {
	for i := 0; i < len(p.Own); i += 1 + len(p.Ladder) {
		all = append(all, &p.Own[i])
	}
	for _, name := range p.Rules {
		if r := l.rules[name]; r != nil {
			own := *r
			own.Burst = cmp.Or(p.Burst, r.Burst)
			all = append(all, &own)
		}
	}
	return all
}

// sets finds sets nobody names.
func (l *linter) sets() {
	named := map[string]bool{}
	for i := range l.spec.Policies {
		p := &l.spec.Policies[i]
		for _, name := range p.Key.Sets() {
			named[name] = true
		}
		if p.Tiers != nil {
			named[p.Tiers.Table] = true
		}
		for _, e := range []*condition.Expr{p.Match, p.CountWhen} {
			e.EachTest(func(e *condition.Expr) {
				for _, w := range e.Test.Wants {
					if w.Kind == condition.WantSet {
						named[w.Text] = true
					}
				}
			})
		}
	}
	for i := range l.spec.Numbered {
		named[l.spec.Numbered[i].Numbers.Set] = true
	}
	for i := range l.spec.Sets {
		if s := &l.spec.Sets[i]; !named[s.Name] {
			l.warn(s.At, "unused-set", "", "no policy names the set @%s", s.Name)
		}
	}
}

// cost finds costs above the limit, and costs of a response that nobody estimates.
func (l *linter) cost(p *Policy) {
	most := int64(p.Cost.Max)
	switch {
	case p.Cost.Fixed != 0:
		return
	case p.Cost.Later() && !p.Cost.Estimated:
		l.warn(under(p, "cost"), "estimate-missing", p.Name, "a request costs 1 until the "+
			"response: of many at once more pass than the limit has; write estimate")
		return
	case p.Cost.Later() && p.Cost.Estimate > 0:
		most = int64(p.Cost.Estimate)
	}
	for _, r := range l.asked(p) {
		if r.Kind != mitigation.Concurrency && most > r.Quota() {
			text := func(parts int64) []byte {
				return wire.AppendDecimal(nil, uint64(parts), r.Scale)
			}
			l.warn(under(p, "cost"), "cost-above-limit", p.Name, "a request may cost up to %s, "+
				"and %s is the most that ever passes (why=cost): write max: %[2]s", text(most),
				text(r.Quota()))
			return
		}
	}
}

// failures finds limits by which a key may have too many failures.
func (l *linter) failures(p *Policy) {
	ofFailures := false
	l.resolved(p.CountWhen).EachTest(func(e *condition.Expr) {
		holds := func(status int) bool { return e.Test.Holds(&request.Request{Status: status}) }
		if e.Test.Field.Kind != condition.Status || holds(200) {
			return
		}
		for status := 400; status < 600; status++ {
			ofFailures = ofFailures || holds(status)
		}
	})
	if !ofFailures {
		return
	}
	for _, r := range l.asked(p) {
		day := float64(r.Limit) * float64(24*time.Hour) / float64(max(r.Window, 1))
		if r.Kind != mitigation.Concurrency && r.Action != mitigation.Block && day > maxFailures {
			l.warn(under(p, "count_when"), "count-rate", p.Name, "%.0f failures a day of a key "+
				"pass: a smaller limit, or action: block, makes guessing slower", day)
			return
		}
	}
}

// binds finds a limit never reached because of a smaller one.
func (l *linter) binds(number int) {
	p := &l.spec.Policies[number]
	if len(p.Own) != 1 {
		return
	}
	for i := range number {
		earlier := &l.spec.Policies[i]
		if len(earlier.Own) != 1 || earlier.Mode != mitigation.Enforce || p.Group != "" ||
			earlier.Key.String() != p.Key.String() || earlier.Cost != p.Cost ||
			!condition.Covers(l.matches[i], l.matches[number]) ||
			!condition.Covers(l.matches[number], l.matches[i]) || !same(earlier, p) {
			continue
		}
		a, b := &earlier.Own[0], &p.Own[0]
		if a.Kind == b.Kind && a.Window == b.Window && a.Burst <= b.Burst && a.Limit < b.Limit {
			l.warn(p.At, "never-binds", p.Name, "is never reached: %s on line %d has a smaller "+
				"limit for the same requests", earlier.Name, earlier.At.Line)
			return
		}
	}
}

// beyond finds a limit no request asks, since each asks MaxQuestions before.
func (l *linter) beyond(number int) {
	p, before := &l.spec.Policies[number], 0
	for i := range number {
		earlier := &l.spec.Policies[i]
		if len(earlier.Own) > 0 && earlier.Mode != mitigation.Off && earlier.Group == "" &&
			!earlier.MissingSkip && earlier.Until.IsZero() &&
			condition.Covers(l.matches[i], l.matches[number]) {
			before += 1 + len(earlier.Ladder)
		}
	}
	if before >= MaxQuestions {
		l.warn(p.At, "never-asked", p.Name, "is never asked: the same requests ask %d rules of "+
			"policies above, and %d are the most", before, MaxQuestions)
	}
}

// same reports whether both count the same of the requests that they match.
func same(a, b *Policy) bool {
	if a.CountWhen == nil || b.CountWhen == nil {
		return a.CountWhen == b.CountWhen
	}
	return a.CountWhen.Spelling() == b.CountWhen.Spelling()
}

// chosen finds limits by a value of the visitor's choice.
func (l *linter) chosen(number int) {
	p := &l.spec.Policies[number]
	field := p.Key.chosen()
	if field == "" {
		return
	}
	for i := range l.spec.Policies {
		other := &l.spec.Policies[i]
		if i != number && other.Mode != mitigation.Off && other.Asks() && other.CountWhen == nil &&
			other.Key.fixed() && condition.Covers(l.matches[i], l.matches[number]) {
			return
		}
	}
	l.warn(under(p, "key"), "key-chosen", p.Name, "a visitor chooses %s, and has a new limit with "+
		"each value: write %s@SET | client, or add a limit by client", field, field)
}

// chosen returns the first field of the key with a value of the visitor's choice; "": none.
func (k *Key) chosen() string {
	for _, alternatives := range k.Parts {
		field, bound := "", false
		for i := range alternatives {
			part := &alternatives[i]
			switch kind := part.field.Kind; {
			case part.kind == partPrefix || part.set != "":
				bound = true
			case part.kind == partField && (kind == condition.Header ||
				kind == condition.Cookie || kind == condition.Query) && field == "":
				field = part.String()
			}
		}
		if field != "" && !bound {
			return field
		}
	}
	return ""
}

// fixed reports whether a visitor has no choice in the key: client, peer and all alone.
func (k *Key) fixed() bool {
	for _, part := range slices.Concat(k.Parts...) {
		if part.kind != partPrefix && part.kind != partAll && part.field.Kind != condition.Peer {
			return false
		}
	}
	return true
}

// Digests reports whether p counts by digests.
func (p *Policy) Digests() bool {
	return slices.ContainsFunc(slices.Concat(p.Key.Parts...),
		func(part Part) bool { return part.secret() })
}

// Needs reports whether p acts by what becomes of a request: by a report of the response, or by the
// end of the request.
func (p *Policy) Needs() (report, release bool) {
	report = p.CountWhen.UsesResponse() || p.Cost.Later()
	release = slices.ContainsFunc(p.Own,
		func(r mitigation.Rule) bool { return r.Kind == mitigation.Concurrency })
	return report, release
}
