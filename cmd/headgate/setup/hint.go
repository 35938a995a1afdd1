package setup

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/mitigation"
)

// printNextStep prints on stderr, beside the snippet, the next thing to do, and a note when nothing
// would be denied.
func (a *app) printNextStep(ctx context.Context, s *snippet, f snippetFlags, k known) {
	fmt.Fprintf(a.Stderr, "next: %s\n", s.form(f.rule).next)
	if door, c := s.form(f.rule).door, k.config; c != nil && c.Headers != "" && door != "HTTP" &&
		door != "SPOP" {
		fmt.Fprintf(a.Stderr, "note: headers: %s is of listen.http and listen.spop; %s asks over "+
			"%s\n", c.Headers, s.name, door)
	}
	if s.name == "caddy" {
		fmt.Fprintf(a.Stderr, "note: port %d is for one Caddy on a machine: a second needs "+
			"--spare-port\n", f.spare)
	}
	if f.rule == "" {
		a.notePolicies(s, f, k)
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

// notePolicies prints a note for everything that s does not do for a policy, and when there are
// none: then every request passes.
func (a *app) notePolicies(s *snippet, f snippetFlags, k known) {
	if f.udp != "" && f.log != noLog {
		fmt.Fprintf(a.Stderr, "note: in that server the access_log of http {} no longer holds: "+
			"the site's log goes to %s (--access-log)\n", cli.Safe(f.log))
	}
	if f.udp != "" && strings.HasPrefix(s.name, "haproxy") {
		fmt.Fprintln(a.Stderr, "note: the log-format of that frontend is the report's, in all "+
			"logs of the frontend")
	}
	where := "headgate"
	if f.config != "" {
		where = cli.Safe(f.config)
	}
	c, err := k.config, k.err
	if err != nil {
		fmt.Fprintf(a.Stderr, "note: the policies are not known: %s\n",
			cli.SafeLines(err.Error()))
		return
	}
	for _, w := range unserved(c, k.file, s.name, f.udp != "", f.messages) {
		fmt.Fprintf(a.Stderr, "note: policy %s (%s:%d): %s\n", cli.Safe(w.Policy),
			cli.Safe(filepath.Base(w.File)), w.Line, cli.Safe(w.Message))
	}
	if len(c.Policies.Policies) == 0 {
		fmt.Fprintf(a.Stderr, "note: %s has no policies yet: every request passes. One for all "+
			"of them:\n"+
			"      policies: [{name: everybody, match: {}, limit: 100, window: 10s}]\n", where)
	}
}

// configuration returns the configuration in file, or without one that of the running daemon, and
// the name of the file.
func (a *app) configuration(ctx context.Context, file string) (*config.Config, string, error) {
	if file != "" {
		c, err := config.Read(file)
		return &c, file, err
	}
	ctx, stop := context.WithTimeout(ctx, time.Second)
	defer stop()
	var v api.ConfigView
	if err := a.Fetch(ctx, "/v1/config", nil, &v); err != nil {
		return nil, "", errors.New("the daemon does not answer: name its file with -c")
	}
	text, err := config.YAMLFromJSON(v.Config)
	if err != nil {
		return nil, "", err
	}
	c, err := config.Parse(v.File, text)
	return &c, v.File, err
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
