package replay

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate-dev/headgate/cmd/headgate/accesslog"
	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/mitigation"
)

// replayOptions are the options of `headgate replay`.
type replayOptions struct {
	config    string
	rule      string
	policies  bool
	key       string // client, path, or empty: the policy's own, else client
	format    string
	decisions string
	oracle    bool
	suggest   bool
	every     bool
	json      bool
	limit     int64         // 0: the rule's own
	window    time.Duration // 0: the rule's own
	burst     int64         // 0: the rule's own
	delay     time.Duration // 0: the rule's own
}

const replayLong = `Run access logs through the daemon's counting and deciding code, at the
time of the logs: the decisions a rule would have made yesterday.

Records are replayed in file order at their timestamp; a record that goes back in time is
replayed at the latest time so far. Logs may be plain or gzipped: combined or common
format, JSON lines (nginx, Caddy, Traefik), the logs of HAProxy, Envoy, AWS load
balancers and CloudFront, or TSV (unix_seconds, client, method, path, status), behind what
syslog, docker and Kubernetes put before a line. A client is found as clients of the
configuration says: behind a trusted peer by the list that the log has. The rule is
replayed with mode enforce and scope node, whatever the file says, because one log holds
the traffic of one node. That of a policy is tried with the policy's match and key, and the
networks of its ladder; --every-request leaves the match out.

With --policies all policies of the file decide, with their modes, as in the daemon: by
method, path and client, by the status of the response and its time. A log has no headers
and no host: a condition on them does not hold, and a key by them is absent.

With --oracle every decision is compared with an exact sliding log in two ways:
enforcement, by admitted cost, and classification, by offered cost.

With --suggest no rule decides: every limit is tried at once, with the rule's window and
action, and a table shows the exact share of requests and of keys each limit would have
denied; of a bucket every burst with the rule's refill, of kind concurrency every number
of places. --burst tries a window's rule as a bucket.

Requests of a rule with a delay wait, and the summary says how long. Kind concurrency
needs how long each request took, in seconds: a sixth field of TSV, request_time or
duration of JSON, $request_time at the end of a combined line. Requests get the tiers of
the file's policies. A pool cannot be replayed: no access log has its load.`

const replayExample = `  headgate replay --rule per-ip access.log.gz
  headgate replay --rule per-ip --limit 20 --window 1m --oracle access.log
  headgate replay -c headgate.yaml --rule login --key path --decisions out.tsv *.log
  headgate replay -c headgate.yaml --policies access.log.gz
  headgate replay --rule per-ip --suggest access.log.gz
  headgate replay --rule per-ip --limit 10 --window 1s --burst 20 --suggest access.log.gz`

// Command returns `headgate replay`.
func Command(shared *cli.App) *cobra.Command {
	a := &app{shared}
	var o replayOptions
	cmd := &cobra.Command{
		Use:     "replay (--rule NAME | --policies) LOG...",
		Short:   "Show the decisions a rule, or all policies, would have made on access logs",
		Long:    replayLong,
		Example: replayExample,
		Args: func(cmd *cobra.Command, logs []string) error {
			switch {
			case len(logs) == 0:
				return cli.Usage(cmd, errors.New("replay wants at least one log"))
			case o.rule == "" && !o.policies:
				return cli.Usage(cmd,
					errors.New(`required flag(s) "rule" not set: name one, or replay all --policies`))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, logs []string) error {
			return o.run(cmd.Context(), a, logs)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.config, "config", "c", "", "configuration `FILE` (default: the built-in rules)")
	f.StringVar(&o.rule, "rule", "", "`NAME` of the rule to replay")
	f.BoolVar(&o.policies, "policies", false, "replay all policies of the configuration")
	f.StringVar(&o.key, "key", "", "count by `FIELD`: client or path (default: as the policy does)")
	f.BoolVar(&o.every, "every-request", false, "count what the rule's policy does not match too")
	f.StringVar(&o.format, "format", "auto", "`FORMAT` of the logs: "+accesslog.FormatNames())
	f.StringVar(&o.decisions, "decisions", "", "write one TSV line for each request to `FILE`")
	f.BoolVar(&o.oracle, "oracle", false, "compare every decision with an exact sliding log")
	f.BoolVar(&o.suggest, "suggest", false, "try every limit and print a table of their denials")
	f.BoolVar(&o.json, "json", false, "print the summary as JSON")
	f.Int64Var(&o.limit, "limit", 0, "use the limit `N` instead of the rule's")
	f.DurationVar(&o.window, "window", 0, "use the window `DURATION` instead of the rule's")
	f.Int64Var(&o.burst, "burst", 0, "replay a bucket of `N` tokens, instead of a window or of "+
		"the rule's burst")
	f.DurationVar(&o.delay, "delay", 0, "have requests of a bucket wait up to `DURATION` for "+
		"their tokens")
	for _, other := range []string{
		"rule", "oracle", "suggest", "limit", "window", "burst",
		"delay", "every-request",
	} {
		cmd.MarkFlagsMutuallyExclusive("policies", other)
	}
	cmd.MarkFlagsMutuallyExclusive("suggest", "oracle")
	cmd.MarkFlagsMutuallyExclusive("suggest", "decisions")
	return cmd
}

// run replays logs and prints the summary; progress and bad lines go to stderr. Where a log breaks
// off, or the user interrupts, the summary covers the part before.
func (o *replayOptions) run(ctx context.Context, a *app, logs []string) error {
	r, err := o.prepare()
	if err != nil {
		return err
	}
	if o.decisions != "" {
		file, err := os.Create(o.decisions)
		if err != nil {
			return fmt.Errorf("write decisions: %w", err)
		}
		//nolint:errcheck // finish closes it and looks; this is for the error paths
		defer file.Close()
		r.file, r.out = file, bufio.NewWriterSize(file, 1<<16)
	}
	meter := newProgress(a.Stderr, logs)
	began := time.Now()
	readErr := r.readAll(ctx, logs, meter)
	meter.clear()
	summary, err := r.finish(time.Since(began))
	printFaults(a.Stderr, &r.faults)
	switch {
	case err != nil || summary.Requests == 0:
		return firstError(err, readErr, r.nothing())
	case o.suggest:
		return firstError(o.printTrial(a, r), readErr)
	}
	return firstError(o.print(a, summary), readErr)
}

// firstError returns the first error.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (o *replayOptions) print(a *app, s *replaySummary) error {
	if o.json {
		return cli.WriteJSON(a.Stdout, s)
	}
	a.writeReplay(s)
	return nil
}

// prepare checks the options and returns a replay before the first read.
func (o *replayOptions) prepare() (*replay, error) {
	format, err := accesslog.ParseFormat(o.format)
	if err != nil {
		return nil, fmt.Errorf("--format: %w", err)
	}
	keyOf, err := keyChooser(o.key)
	if err != nil {
		return nil, err
	}
	cfg, err := config.Read(o.config)
	if err != nil {
		return nil, err
	}
	if o.policies {
		return o.prepareAll(cfg, keyOf, format)
	}
	whole := cfg
	rule, ladder, err := o.choose(&cfg)
	if err != nil {
		return nil, err
	}
	r := newReplay(rule, keyOf, format, o.oracle)
	r.clients = whole.Policies.Clients
	if r.tiers, err = tiersOf(&whole, &rule); err != nil {
		return nil, err
	}
	r.open = func(start time.Time) (judge, error) { return openJudge(cfg, start) }
	return r, o.judge(r, cfg, rule, &ladder, ownerOf(&whole, rule.Name))
}

// judge has r judge by rule, which is own's if that is not nil, with the networks of ladder, in the
// way of o.
func (o *replayOptions) judge(
	r *replay, cfg config.Config, rule mitigation.Rule, ladder *widened, own *policy.Policy,
) (err error) {
	if o.every && own == nil {
		return fmt.Errorf("--every-request: %s is no policy's own rule", cli.Quote(rule.Name))
	}
	whole := needsRequest(&rule, ladder, own)
	if whole || own != nil {
		if err := o.alone(&cfg, rule, ladder, own); err != nil {
			return err
		}
		if r.keyer, err = newKeyer(&cfg, rule.Name); err != nil {
			return err
		}
	}
	switch {
	case o.suggest:
		r.trial = newTrial(&rule)
	case o.oracle && len(ladder.levels) > 0:
		return fmt.Errorf("%s: --oracle is for rules without a ladder of networks", rule.Name)
	case whole:
		r.openHouse(cfg)
	}
	return nil
}

// prepareAll returns a replay of all policies of cfg.
func (o *replayOptions) prepareAll(
	cfg config.Config, keyOf func(*accesslog.Record) []byte, f accesslog.Format,
) (*replay, error) {
	if len(cfg.Policies.Policies) == 0 {
		return nil, errNoPolicies
	}
	everywhere(&cfg)
	o.byItself(&cfg)
	r := newReplay(mitigation.Rule{}, keyOf, f, false)
	r.clients = cfg.Policies.Clients
	for _, rule := range cfg.AllRules() {
		r.rule.Window = max(r.rule.Window, rule.Fill()) // the upkeep goes by the longest
	}
	if longest, waits := waitsForEnds(cfg.AllRules()); waits {
		r.order = &transit{lease: longest, whole: true}
	}
	r.openHouse(cfg)
	return r, nil
}

// byItself turns cfg into a node by itself, without listeners, gossip or state file.
func (o *replayOptions) byItself(cfg *config.Config) {
	cfg.StateDir, cfg.AdminTokenFile = "", ""
	cfg.Listen, cfg.Gossip, cfg.Ring.Servers = config.Listen{}, config.Gossip{}, nil
}

// app is the program, with the actions of this package's commands.
type app struct{ *cli.App }
