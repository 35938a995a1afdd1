package ask

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/client"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/wire"
)

// checkFlags are the options of `headgate check`.
type checkFlags struct {
	address string
	cost    string
	peek    bool
	count   bool
	json    bool
	timeout time.Duration
}

// decisionDefault is the address of the daemon's decisions unless a flag or HEADGATE_ADDR names
// another.
const decisionDefault = "127.0.0.1:4290"

// Check returns `headgate check`, which requests a verdict.
func Check(shared *cli.App) *cobra.Command {
	a := &app{shared}
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check RULE KEY",
		Short: "Ask the daemon whether a request may pass",
		Long: `Ask the daemon over UDP, or a unix datagram socket, whether a request may pass,
and count it. Exit code 0 for allow, 1 for deny, 2 when there is no answer.`,
		Example: `  headgate check login 203.0.113.7
  headgate check --peek --json login 203.0.113.7
  if headgate check login "$IP" >/dev/null; then echo welcome; fi`,
		Args:              cli.Want("RULE", "KEY"),
		ValidArgsFunction: a.completeRule,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.check(cmd.Context(), args[0], args[1], f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.address, "addr", "", "UDP `ADDRESS` of the daemon, or unix:/path (default "+
		""+decisionDefault+"; env HEADGATE_ADDR)")
	flags.StringVar(&f.cost, "cost", "1", "count the request as `N`, 1 to 1000000")
	flags.BoolVar(&f.peek, "peek", false, "decide, but do not count")
	flags.BoolVar(&f.count, "count", false, "count, but do not decide")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	flags.DurationVar(&f.timeout, "timeout", time.Second, "wait at most `DURATION` for the answer")
	cmd.MarkFlagsMutuallyExclusive("peek", "count")
	return cmd
}

func (a *app) check(ctx context.Context, rule, key string, f checkFlags) error {
	query, err := f.query(rule, key)
	if err != nil {
		return fmt.Errorf("check: %w", err)
	}
	name := "--addr"
	if f.address == "" && a.Getenv("HEADGATE_ADDR") != "" {
		name = "HEADGATE_ADDR"
	}
	f.address = cli.First(f.address, a.Getenv("HEADGATE_ADDR"), decisionDefault)
	to, err := config.ParseAddress(f.address)
	if err != nil {
		return fmt.Errorf("check: %s %w", name, err)
	}
	answer, err := ask(ctx, to, f.timeout, query)
	if err != nil {
		return a.notAsked(ctx, err, rule, f)
	}
	if f.json {
		err = cli.WriteJSON(a.Stdout, newVerdict(rule, key, answer))
	} else {
		a.printAnswer(answer)
	}
	if err == nil && answer.Status == wire.Deny {
		return cli.ErrNo
	}
	return err
}

// query turns the arguments into a request, or says which are not fit for a daemon.
func (f checkFlags) query(rule, key string) (client.Query, error) {
	q, ok := client.Query{Op: wire.Check, Rule: rule, Key: key}, false
	switch q.Cost, q.Millionths, ok = wire.ParseCost([]byte(f.cost)); {
	case !ok:
		return q, fmt.Errorf("--cost is %s, not 1 to %d", cli.Quote(f.cost), wire.MaxCost)
	case key == "":
		return q, errors.New("the key is empty")
	case f.timeout <= 0:
		return q, fmt.Errorf("--timeout is %v, not above 0", f.timeout)
	case len(key) > wire.MaxKey:
		return q, fmt.Errorf("the key has %d bytes; the maximum is %d", len(key), wire.MaxKey)
	}
	switch {
	case f.peek:
		q.Op = wire.Peek
	case f.count:
		q.Op = wire.Count
	}
	if !wire.ValidRule(rule) {
		return q, fmt.Errorf("%s cannot be a rule's name: 1 to %d of A-Z a-z 0-9 _ . -",
			cli.Quote(rule), wire.MaxRule)
	}
	return q, nil
}

// verdict is the output of `headgate check --json`.
type verdict struct {
	Verdict   string      `json:"verdict"` // allow, deny; ok with --count
	Rule      string      `json:"rule"`
	Key       string      `json:"key"` // as lists show it
	Remaining *api.Amount `json:"remaining,omitempty"`
	Reset     uint32      `json:"reset,omitempty"` // seconds
	Retry     uint32      `json:"retry,omitempty"` // seconds
	Why       string      `json:"why,omitempty"`
	Ratio     float32     `json:"ratio,omitempty"`
	View      string      `json:"view,omitempty"`
	Shadow    string      `json:"shadow,omitempty"`
}

func newVerdict(rule, key string, answer client.Answer) verdict {
	left := leftBy(answer)
	v := verdict{Verdict: answer.Status.String(), Rule: rule, Key: cli.ShownKey(key)}
	switch answer.Status {
	case wire.Allow:
		v.Remaining, v.Reset, v.View = &left, seconds(answer.Reset),
			answer.View.String()
		if answer.Shadow {
			v.Shadow = wire.Deny.String()
		}
	case wire.Deny:
		v.Why, v.Retry, v.Ratio, v.View = answer.Why.String(), seconds(answer.Retry),
			float32(answer.Ratio), answer.View.String()
		if answer.Why == wire.WhyLimit || answer.Why == wire.WhyCost {
			v.Remaining = &left
		}
	}
	return v
}

// leftBy returns how much is left by answer.
func leftBy(answer client.Answer) api.Amount {
	return api.Amount(answer.Remaining*1_000_000+int64(answer.Millionths)) / 1_000_000
}

// printAnswer prints a line: the verdict and the reason.
func (a *app) printAnswer(answer client.Answer) {
	word := answer.Status.String()
	text := "counted"
	switch answer.Status {
	case wire.Allow:
		text = fmt.Sprintf("%s remaining, more in %s, view %s", leftBy(answer),
			cli.Span(answer.Reset), answer.View)
		if answer.Shadow {
			text += ", shadow: would be denied in mode enforce"
		}
	case wire.Deny:
		text = fmt.Sprintf("reason %s, retry in %s, view %s", answer.Why,
			cli.Span(answer.Retry), answer.View)
		if answer.Why == wire.WhyCost {
			text = fmt.Sprintf("reason cost: above the limit, never passes; %s remaining, view %s",
				leftBy(answer), answer.View)
		}
		if answer.Ratio > 0 {
			text += fmt.Sprintf(", %.0f %% of its requests are denied", answer.Ratio*100)
		}
	}
	fmt.Fprintf(a.Stdout, "%s  %s\n", a.Paint(cli.StateStyle(word), word), text)
}

// whole renders whole seconds.
func whole(s uint32) string { return cli.Span(time.Duration(s) * time.Second) }

// seconds returns d, whole seconds, as a number.
func seconds(d time.Duration) uint32 { return uint32(d / time.Second) }
