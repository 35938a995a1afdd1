package setup

import (
	"context"
	"fmt"
	"strings"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/mitigation"
)

// printNextStep prints on stderr, beside the snippet, the next thing to do, and a note when the rule would deny nothing.
func (a *app) printNextStep(ctx context.Context, s *snippet, f snippetFlags) {
	fmt.Fprintf(a.Stderr, "next: %s\n", s.next)
	modes, order, known := a.modes(ctx, f.config)
	mode, there := modes[f.rule]
	switch {
	case !known || mode == mitigation.Enforce.String():
	case !there:
		fmt.Fprintf(a.Stderr, "note: there is no rule %s; the rules are %s\n", cli.Quote(f.rule), cli.Safe(strings.Join(order, ", ")))
	case mode == mitigation.Shadow.String():
		fmt.Fprintf(a.Stderr, "note: rule %s is in shadow mode: it counts and reports, and nothing is denied yet.\n"+
			"      To enforce it: headgate mode enforce %s (until a reload), or mode: enforce in the configuration\n", f.rule, f.rule)
	default:
		fmt.Fprintf(a.Stderr, "note: rule %s has mode %s: nothing is counted or denied\n", f.rule, cli.Safe(mode))
	}
}

// modes returns the modes of the rules by name, and their names in order: those in file, or without a file those of the running
// daemon. known is false when there is no answer.
func (a *app) modes(ctx context.Context, file string) (modes map[string]string, order []string, known bool) {
	modes = map[string]string{}
	if file != "" {
		c, err := config.Read(file)
		if err != nil {
			fmt.Fprintf(a.Stderr, "note: the mode of the rule is not known: %s\n", cli.SafeLines(err.Error()))
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
