package setup

import (
	"context"
	"fmt"
	"strings"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/mitigation"
)

// printNextStep prints on stderr, beside the snippet, the next thing to do, and a note when nothing
// would be denied.
func (a *app) printNextStep(ctx context.Context, s *snippet, f snippetFlags) {
	fmt.Fprintf(a.Stderr, "next: %s\n", s.form(f.rule).next)
	if f.rule == "" {
		a.notePolicies(ctx, f.config)
		return
	}
	modes, order, known := a.modes(ctx, f.config)
	mode, there := modes[f.rule]
	switch {
	case !known || mode == mitigation.Enforce.String():
	case !there:
		fmt.Fprintf(a.Stderr, "note: there is no rule %s; the rules are %s\n", cli.Quote(f.rule),
			cli.Safe(strings.Join(order, ", ")))
	case mode == mitigation.Shadow.String():
		fmt.Fprintf(a.Stderr, "note: rule %s is in shadow mode: it counts and reports, and "+
			"nothing is denied yet.\n"+
			"      To enforce it: headgate mode enforce %s (until a reload), or mode: enforce in "+
			"the configuration\n", f.rule, f.rule)
	default:
		fmt.Fprintf(a.Stderr, "note: rule %s has mode %s: nothing is counted or denied\n",
			f.rule, cli.Safe(mode))
	}
}

// notePolicies prints a note when there are no policies, in file or without one at the running
// daemon: then every request passes.
func (a *app) notePolicies(ctx context.Context, file string) {
	where, none := "headgate", false
	if file == "" {
		all, known := a.AskPolicies(ctx) // a moment at most
		none = known && len(all) == 0
	} else {
		where = cli.Safe(file)
		c, err := config.Read(file)
		if err != nil {
			fmt.Fprintf(a.Stderr, "note: the policies are not known: %s\n",
				cli.SafeLines(err.Error()))
			return
		}
		none = len(c.Policies.Policies) == 0
	}
	if none {
		fmt.Fprintf(a.Stderr, "note: %s has no policies yet: every request passes. One for all "+
			"of them:\n"+
			"      policies: [{name: everybody, match: {}, limit: 100, window: 10s}]\n", where)
	}
}

// modes returns the modes of the rules by name, and their names in order: those in file, or without
// a file those of the running daemon. known is false when there is no answer.
func (a *app) modes(
	ctx context.Context, file string,
) (modes map[string]string, order []string, known bool) {
	modes = map[string]string{}
	if file != "" {
		c, err := config.Read(file)
		if err != nil {
			fmt.Fprintf(a.Stderr, "note: the mode of the rule is not known: %s\n",
				cli.SafeLines(err.Error()))
			return nil, nil, false
		}
		for _, r := range c.Rules {
			modes[r.Name], order = r.Mode.String(), append(order, r.Name)
		}
		return modes, order, true
	}
	rules, known := a.AskRules(ctx) // a moment at most
	for _, r := range rules {
		modes[r.Name], order = r.Mode, append(order, r.Name)
	}
	return modes, order, known
}
