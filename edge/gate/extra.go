package gate

import (
	"errors"
	"slices"

	"github.com/headgate-dev/headgate/mitigation"
)

// MaxExtra is the most rules AddRule adds.
const MaxExtra = 2000

// ErrFull says that AddRule has added MaxExtra rules.
var ErrFull = errors.New("gate: too many rules")

// AddRule puts r in force beside the rules of the configuration, and beyond its reloads, until the
// gate ends: a rule whose numbers came with a request. It can be asked, and has counts and flags
// like any rule, but Rules, RuleNames and the figures omit the rule. A rule of the configuration
// with the same name comes first. AddRule takes about as long as a reload.
func (g *Gate) AddRule(r mitigation.Rule) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if slices.ContainsFunc(g.extra, func(e mitigation.Rule) bool { return e.Name == r.Name }) {
		return nil
	}
	if len(g.extra) == MaxExtra {
		return ErrFull
	}
	g.extra = append(g.extra, r)
	g.SetRules(g.Rules())
	return nil
}

// withExtra returns rules and those of AddRule rules do not replace.
func (g *Gate) withExtra(rules []mitigation.Rule) []mitigation.Rule {
	if len(g.extra) == 0 {
		return rules
	}
	named := make(map[string]bool, len(rules))
	for i := range rules {
		named[rules[i].Name] = true
	}
	all := slices.Clone(rules)
	for _, r := range g.extra {
		if r.Mode = max(r.Mode, g.killed); !named[r.Name] {
			all = append(all, r)
		}
	}
	return all
}
