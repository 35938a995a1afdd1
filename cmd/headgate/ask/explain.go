package ask

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/api"
)

// Explain returns `headgate explain`, which explains the verdict on a key.
func Explain(shared *cli.App) *cobra.Command {
	a := &app{shared}
	var f explainFlags
	var at string
	cmd := &cobra.Command{
		Use:   "explain RULE KEY",
		Short: "Explain why a key would be allowed or denied now",
		Long: `Print everything that decides one key now: the verdict and its reason, in
sentences; then the exact count, the sketch's estimate with its error bound, the totals of the
PoP's ring and of all PoPs, the mitigation with its source, and the event or command that would
lift it. Nothing is counted. Of a rule with shed_by, --by says whether the requests with that
value are denied until the epoch ends. --at prints the past of the key at a time in place of all
that.`,
		Example: `  headgate explain login 203.0.113.7
  headgate explain per-host www.example.com --by 203.0.113.7
  headgate explain login 203.0.113.7 --at 14:03`,
		ValidArgsFunction: a.completeRule,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.explainAll(cmd.Context(), args, &f, at)
		},
	}
	cmd.Flags().StringVar(&at, "at", "", "the past of the key at `TIME`: 14:03, "+
		"'2026-11-25 14:03' or RFC 3339")
	cmd.Flags().StringVar(&f.by, "by", "", "`VALUE` of the part of a request by which the rule "+
		"draws its drop ratio, such as a client's address")
	cmd.MarkFlagsMutuallyExclusive("at", "by")
	return a.aboutKey(cmd, &f)
}

// explainFlags are the options of `headgate explain`.
type explainFlags struct {
	whom
	shown, json bool
	by          string
}

// explainAll explains each key that is meant, as it is now or was at a time.
func (a *app) explainAll(ctx context.Context, args []string, f *explainFlags, at string) error {
	var then time.Time
	if at != "" {
		var err error
		if then, err = a.timeAt(at); err != nil {
			return err
		}
	}
	return a.eachKey(ctx, args, f, func(d *cli.Client, query url.Values) error {
		if at != "" {
			return a.explainAt(ctx, d, query, then, f.json)
		}
		var v api.ExplainView
		setIf(query, "by", f.by)
		if err := d.Get(ctx, "/v1/explain", query, &v); err != nil {
			return d.ExplainRefusal(ctx, err, args[0])
		}
		if f.json {
			return cli.WriteJSON(a.Stdout, v)
		}
		return a.explain(v)
	})
}

func (a *app) explain(v api.ExplainView) error {
	fmt.Fprintf(a.Stdout, "%s  %s  %s\n", a.Paint(cli.StateStyle(v.Verdict), cli.Safe(v.Verdict)),
		cli.Safe(v.Rule), cli.Safe(v.Key))
	for _, sentence := range v.Sentences {
		fmt.Fprintf(a.Stdout, "  %s\n", cli.Safe(sentence))
	}
	a.printFields(slices.Concat([][2]string{
		{"reason", because(v)},
		{"remaining", remaining(v)},
		{"limit from", sourceText(v)},
		{"rule", fmt.Sprintf("%s, scope %s, mode %s, failure_mode %s%s", limitOf(v), v.Scope,
			v.Mode, v.FailureMode, spreadText(v.RetrySpread))},
		{"bucket", bucketOf(v)},
		{"places", placesText(v)},
		{"reserve", reserveText(v.Reserve)},
		{"strikes", strikesText(v)},
		{"siblings", siblingsText(v.Siblings)},
	}, networksOf(v.Ladder), [][2]string{
		{"clients", blastText(v.Blast)},
		{"shed by", shedByText(v.ShedBy, v.Now)},
		{"view", viewed(v)},
		{"counted", counted(v)},
		{"ring", shared(v.Ring)},
		{"all PoPs", worldwide(v.Global)},
		{"by PoP", byPoP(v.Global)},
		{"estimate", estimated(v)},
		{"mitigation", flagged(v.Flag, v.Now)},
		{"policies", strings.Join(v.Policies, ", ")},
		{"lifted by", v.LiftedBy},
	}))
	a.printSubWindows(v)
	return nil
}

// printFields prints names and values, leaving out empty values.
func (a *app) printFields(fields [][2]string) {
	for _, f := range fields {
		if f[1] != "" {
			fmt.Fprintf(a.Stdout, "  %s  %s\n",
				a.Paint(cli.Faint, fmt.Sprintf("%-10s", f[0])), cli.Safe(f[1]))
		}
	}
}

// because names the reason of a denial, enforced or not.
func because(v api.ExplainView) string {
	if v.Shadow {
		return v.Why + ", but the rule is in shadow"
	}
	return v.Why
}

func remaining(v api.ExplainView) string {
	switch {
	case v.Retry > 0:
		return fmt.Sprintf("%v, retry in %s", v.Remaining, whole(v.Retry))
	case v.Reset > 0:
		return fmt.Sprintf("%v, more in %s", v.Remaining, whole(v.Reset))
	}
	return v.Remaining.String()
}

// viewed names the counts the verdict rests on, and the effect of a lost view.
func viewed(v api.ExplainView) string {
	if !v.ViewLost {
		return v.View
	}
	lost, who := "the PoP", "node"
	if v.Global != nil {
		lost = "all PoPs"
	}
	if v.View == "pop" {
		who = "PoP"
	}
	does := map[string]string{
		"local": "this " + who + " enforces the limit by its own counts",
		"allow": "only a mitigation in force denies",
		"deny":  "every key without a manual allow is denied",
	}
	return v.View + ": the view of " + lost + " is lost, so " +
		cli.First(does[v.FailureMode], v.FailureMode)
}

// shared describes the key between the nodes of the PoP; "" when not shared.
func shared(r *api.KeyRingView) string {
	switch {
	case r == nil:
		return ""
	case r.AgeSeconds == nil:
		return fmt.Sprintf("no total received yet, %v not sent yet", r.Unsent)
	}
	return fmt.Sprintf("%s reported %s ago: %s offered a second at all nodes; %v counted here "+
		"not sent yet",
		r.Server, cli.Span(cli.Seconds(*r.AgeSeconds)), cli.Decimal(r.OfferedRate), r.Unsent)
}

// worldwide describes the key over all PoPs; "" when the rule is not global.
func worldwide(w *api.KeyGlobalView) string {
	if w == nil {
		return ""
	}
	text := "no total received yet"
	if w.AgeSeconds != nil {
		text = fmt.Sprintf("%s offered a second in all PoPs, %s may pass, as of %s ago",
			cli.Decimal(w.OfferedRate), cli.Decimal(w.LimitRate),
			cli.Span(cli.Seconds(*w.AgeSeconds)))
	}
	if w.ShareRate > 0 {
		text += fmt.Sprintf("; this PoP may admit %s", cli.Decimal(w.ShareRate))
	}
	if w.Ratio > 0 {
		text += fmt.Sprintf("; %.1f %% to be denied", w.Ratio*100)
	}
	if w.Others != nil {
		text += fmt.Sprintf("; other PoPs: %v offered, %v admitted",
			w.Others.Offered, w.Others.Admitted)
	}
	if text += fmt.Sprintf("; %s a second in this PoP", cli.Decimal(w.PoPRate)); w.Owner != "" {
		text += fmt.Sprintf("; summed by %s, standby %s", w.Owner, cli.First(w.Standby, "none"))
	}
	switch {
	case w.Alone:
		return text + ", reported by this node for itself only"
	case w.Reporter != "":
		return text + ", reported by " + w.Reporter
	}
	return text
}

// byPoP lists the offered rate and the share to be denied of each PoP, if known here.
func byPoP(w *api.KeyGlobalView) string {
	if w == nil {
		return ""
	}
	var all []string
	for _, p := range w.PoPs {
		name := p.PoP
		if p.Alone {
			name += " (nodes alone)"
		}
		may := ""
		if p.ShareRate > 0 {
			may = fmt.Sprintf(" of which %s may pass", cli.Decimal(p.ShareRate))
		}
		all = append(all, fmt.Sprintf("%s %s a second%s, %.1f %% to be denied", name,
			cli.Decimal(p.OfferedRate), may, p.Ratio*100))
	}
	return strings.Join(all, "; ")
}

// counted states the exact counts, which only a suspect has.
func counted(v api.ExplainView) string {
	if v.Places != nil {
		return ""
	}
	if !v.Suspect {
		return fmt.Sprintf("by estimate only: exact counting begins at an estimate of %s",
			cli.Decimal(v.PromoteAt))
	}
	since := ""
	if v.SuspectSince != nil {
		since = " for " + cli.Span(v.Now.Sub(*v.SuspectSince).Truncate(time.Second))
	}
	if b := v.Bucket; b != nil {
		return fmt.Sprintf("exactly%s: %v taken and not back yet, %v offered in the last %s", since,
			v.Admitted, v.Offered, cli.Span(cli.Seconds(float64(b.Burst)*b.Token)))
	}
	return fmt.Sprintf("exactly%s: %v admitted, %v offered in the last %s", since, v.Admitted,
		v.Offered, cli.Span(cli.Seconds(v.Window)))
}

func estimated(v api.ExplainView) string {
	if v.Places != nil {
		return ""
	}
	return fmt.Sprintf("%v by the sketch; with probability %.1f %% at most %s too high (an "+
		"unseen key reads %s)",
		v.Estimate, v.Confidence*100, cli.Decimal(v.ErrorBound), cli.Decimal(v.NoiseFloor))
}

func flagged(f *api.MitigationView, now time.Time) string {
	if f == nil {
		return "none"
	}
	text := f.Action
	if f.Action == "shed" {
		text += " " + cli.Ratio(f.Action, f.Ratio)
	}
	text += ", source " + f.Source
	if !f.Since.IsZero() {
		text += ", for " + cli.Span(now.Sub(f.Since).Truncate(time.Second))
	}
	if !f.Expires.IsZero() {
		text += ", " + timeLeft(f.Expires, now) + " left"
	}
	if f.Reason != "" {
		text += " (" + f.Reason + ")"
	}
	return text
}

// printSubWindows draws the sketch's sub-windows, oldest first.
func (a *app) printSubWindows(v api.ExplainView) {
	var most api.Amount
	for _, s := range v.SubWindows {
		most = max(most, s.Estimate)
	}
	if most == 0 {
		return
	}
	fmt.Fprintf(a.Stdout, "  %s\n", a.Paint(cli.Faint, "sub-windows, by the sketch"))
	for _, s := range v.SubWindows {
		age := "now"
		if ago := v.Now.Sub(s.Start).Truncate(100 * time.Millisecond); ago > 0 {
			age = "-" + cli.Span(ago)
		}
		// the length of the longest bar of the sub-windows' picture, in characters.
		bar := strings.Repeat("#", int(s.Estimate*30/most))
		fmt.Fprintln(a.Stdout, strings.TrimRight(fmt.Sprintf("  %8s %8v %s", age, s.Estimate, bar),
			" "))
	}
}
