package replay

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/accesslog"
	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/pool"
)

// choose finds the rule in cfg, with the ladder if any, and turns cfg into a node by itself: the
// rule as asked for on the command line, enforced by this node's own counts.
func (o *replayOptions) choose(cfg *config.Config) (mitigation.Rule, widened, error) {
	name, ladder, _ := ladderOf(cfg, o.rule)
	rule, err := o.chooseRule(cfg, name)
	o.byItself(cfg)
	return rule, ladder, err
}

// chooseRule finds the rule called name in cfg, and changes the rule as asked.
func (o *replayOptions) chooseRule(cfg *config.Config, name string) (mitigation.Rule, error) {
	cfg.Rules = slices.Clone(cfg.AllRules())
	cfg.Policies.Policies = nil // a policy's rule is tried alone, on every request
	i := slices.IndexFunc(cfg.Rules, func(r mitigation.Rule) bool { return r.Name == name })
	if p := slices.IndexFunc(cfg.Pools,
		func(p pool.Config) bool { return p.Name == o.rule }); i < 0 && p >= 0 {
		return mitigation.Rule{}, fmt.Errorf("--rule: %s is a pool: what it denies follows from "+
			"the load that is reported, which no access log has", cli.Quote(o.rule))
	}
	if i < 0 {
		return mitigation.Rule{}, fmt.Errorf("--rule: there is no rule %s; the rules are %s",
			cli.Quote(o.rule), ruleNames(cfg.Rules))
	}
	rule := &cfg.Rules[i]
	rule.Mode, rule.Scope = mitigation.Enforce, mitigation.Node
	if err := o.override(rule); err != nil {
		return mitigation.Rule{}, err
	}
	return *rule, nil
}

// override puts --limit and --window into rule, within the bounds a file is held to.
func (o *replayOptions) override(rule *mitigation.Rule) error {
	if rule.Scale > 0 {
		return fmt.Errorf("--rule: %s has a scale, and a log has no costs: replay it with the "+
			"policies, without --rule", rule.Name)
	}
	if o.limit != 0 {
		if o.limit < 1 || o.limit > mitigation.MaxLimit {
			return fmt.Errorf("--limit: %d is not within 1..%d", o.limit, mitigation.MaxLimit)
		}
		rule.Limit = o.limit
	}
	if err := o.asBucket(rule); err != nil {
		return err
	}
	if o.window != 0 {
		if o.window < mitigation.MinWindow || o.window > mitigation.MaxWindow ||
			o.window%time.Millisecond != 0 {
			return fmt.Errorf("--window: %v is not within %v..%v in whole milliseconds",
				o.window, mitigation.MinWindow, mitigation.MaxWindow)
		}
		rule.Window = o.window
	}
	if rule.Kind == mitigation.Bucket && rule.Fill() > mitigation.MaxFill {
		return fmt.Errorf("%s: a bucket of %d that gets %d per %v back is full after more than 24h",
			rule.Name, rule.Burst, rule.Limit, rule.Window)
	}
	return o.kindError(rule)
}

// asBucket puts --burst and --delay into rule.
func (o *replayOptions) asBucket(rule *mitigation.Rule) error {
	if o.burst == 0 && o.delay == 0 {
		return nil
	}
	switch {
	case rule.Kind == mitigation.Concurrency:
		return fmt.Errorf("%s: --burst and --delay are for buckets, and the rule is of kind "+
			"concurrency", rule.Name)
	case o.burst < 0 || o.burst > mitigation.MaxLimit:
		return fmt.Errorf("--burst: %d is not within 1..%d", o.burst, mitigation.MaxLimit)
	case o.delay < 0 || o.delay > mitigation.MaxDelay:
		return fmt.Errorf("--delay: %v is not within 0s..%v", o.delay, mitigation.MaxDelay)
	case o.burst == 0 && rule.Kind != mitigation.Bucket:
		return fmt.Errorf("--delay: %s is a window; say --burst too", rule.Name)
	}
	rule.Kind, rule.Counts, rule.Burst, rule.Delay = mitigation.Bucket, mitigation.CountAdmitted,
		cmp.Or(o.burst, rule.Burst), cmp.Or(o.delay, rule.Delay)
	return nil
}

func ruleNames(rules []mitigation.Rule) string {
	names := make([]string, len(rules))
	for i, r := range rules {
		names[i] = r.Name
	}
	return strings.Join(names, ", ")
}

// keyChooser returns the function reading the key out of a record.
func keyChooser(word string) (func(*accesslog.Record) []byte, error) {
	switch word {
	case "client", "":
		return func(r *accesslog.Record) []byte { return r.Client }, nil
	case "path":
		return func(r *accesslog.Record) []byte { return r.Path }, nil
	default:
		return nil, fmt.Errorf("--key: %q is neither client nor path", word)
	}
}
