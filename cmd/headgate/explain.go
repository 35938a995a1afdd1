package main

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate-dev/headgate/edge"
)

func explainCommand(a *app) *cobra.Command {
	var asJSON, shown bool
	cmd := &cobra.Command{
		Use:   "explain RULE KEY",
		Short: "Say why a key would be let pass or refused now",
		Long: `Say everything that decides one key now: the verdict and why, in sentences; then the exact count and the sketch's
estimate with its error bound, what the PoP's ring and the other PoPs say of it, the flag and whose word it is, and
what would lift it. Nothing is counted.`,
		Example:           `  headgate explain login 203.0.113.7`,
		Args:              want("RULE", "KEY"),
		ValidArgsFunction: a.completeRule,
		RunE: func(cmd *cobra.Command, args []string) error {
			key, err := keyOf(args[1], shown)
			if err != nil {
				return err
			}
			return a.explain(cmd.Context(), args[0], key, asJSON)
		},
	}
	a.addAdminFlags(cmd)
	addShownFlag(cmd, &shown)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) explain(ctx context.Context, rule, key string, asJSON bool) error {
	var view edge.ExplainView
	if err := a.fetch(ctx, "/v1/explain", url.Values{"rule": {rule}, "key": {key}}, &view); err != nil {
		return err
	}
	if asJSON {
		return writeJSON(a.stdout, view)
	}
	a.printExplain(view)
	return nil
}

func (a *app) printExplain(v edge.ExplainView) {
	fmt.Fprintf(a.stdout, "%s  %s  %s\n", a.paint(stateStyle(v.Verdict), safe(v.Verdict)), safe(v.Rule), safe(v.Key))
	for _, sentence := range v.Sentences {
		fmt.Fprintf(a.stdout, "  %s\n", safe(sentence))
	}
	a.printFields([][2]string{
		{"because", because(v)},
		{"remaining", remaining(v)},
		{"rule", fmt.Sprintf("%d per %s, scope %s, mode %s, when the view is lost %s", v.Limit, span(seconds(v.Window)), v.Scope, v.Mode, v.FailureMode)},
		{"view", viewed(v)},
		{"counted", counted(v)},
		{"ring", shared(v.Ring)},
		{"world", worldwide(v.World)},
		{"by PoP", byPoP(v.World)},
		{"estimate", estimated(v)},
		{"flag", flagged(v.Flag, v.Now)},
		{"lifted by", v.Lifts},
	})
	a.printSubWindows(v)
}

// printFields prints names and values, leaving out what is empty.
func (a *app) printFields(fields [][2]string) {
	for _, f := range fields {
		if f[1] != "" {
			fmt.Fprintf(a.stdout, "  %s  %s\n", a.paint(faint, fmt.Sprintf("%-9s", f[0])), safe(f[1]))
		}
	}
}

// because tells what refuses, or would.
func because(v edge.ExplainView) string {
	if v.Shadow {
		return v.Why + ", but the rule is in shadow"
	}
	return v.Why
}

func remaining(v edge.ExplainView) string {
	switch {
	case v.Retry > 0:
		return fmt.Sprintf("%d, again in %s", v.Remaining, whole(v.Retry))
	case v.Reset > 0:
		return fmt.Sprintf("%d, more in %s", v.Remaining, whole(v.Reset))
	}
	return strconv.FormatInt(v.Remaining, 10)
}

// viewed tells on what knowledge the verdict rests, and what a lost view leads to.
func viewed(v edge.ExplainView) string {
	if !v.ViewLost {
		return v.View
	}
	whose, who := "PoP's", "node"
	if v.World != nil {
		whose = "world's"
	}
	if v.View == "pop" {
		who = "PoP"
	}
	does := map[string]string{
		"local": "this " + who + " limits by its own counts",
		"allow": "only a flag refuses",
		"deny":  "everything is refused that is not allowed by hand",
	}
	return v.View + ": the " + whose + " is lost, so " + first(does[v.FailureMode], v.FailureMode)
}

// shared tells how the key stands between the nodes of the PoP; nothing when it is not shared.
func shared(r *edge.KeyRingView) string {
	switch {
	case r == nil:
		return ""
	case r.AgeSeconds == nil:
		return fmt.Sprintf("nothing heard yet, %d to tell", r.Untold)
	}
	text := fmt.Sprintf("%s said %s ago: %s offered a second at all nodes; %d of ours not told yet",
		r.Server, span(seconds(*r.AgeSeconds)), decimal(r.OfferedRate), r.Untold)
	if r.Debt >= 0.05 {
		text += fmt.Sprintf("; %s admitted too fast, being made up for", decimal(r.Debt))
	}
	return text
}

// worldwide tells how the key stands over all PoPs; nothing when it is not theirs.
func worldwide(w *edge.KeyWorldView) string {
	if w == nil {
		return ""
	}
	text := "nothing said yet"
	if w.AgeSeconds != nil {
		text = fmt.Sprintf("%s offered a second in all PoPs, %s may pass, as said %s ago",
			decimal(w.OfferedRate), decimal(w.LimitRate), span(seconds(*w.AgeSeconds)))
	}
	if w.Ratio > 0 {
		text += fmt.Sprintf("; %.1f %% to be refused", w.Ratio*100)
	}
	if w.Others != nil {
		text += fmt.Sprintf("; the others: %d offered, %d admitted", w.Others.Offered, w.Others.Admitted)
	}
	text += fmt.Sprintf("; %s here; added up by %s and %s", decimal(w.PoPRate), first(w.Owner, "nobody"), first(w.Standby, "nobody"))
	if w.Woken {
		text += ", woken by its owner"
	}
	switch {
	case w.Alone:
		return text + ", reported by this node for itself alone"
	case w.Reporter != "":
		return text + ", reported by " + w.Reporter
	}
	return text
}

// byPoP tells what each PoP is asked for and refuses, where this node knows; else nothing.
func byPoP(w *edge.KeyWorldView) string {
	if w == nil {
		return ""
	}
	var all []string
	for _, p := range w.PoPs {
		name := p.PoP
		if p.Alone {
			name += " (nodes alone)"
		}
		all = append(all, fmt.Sprintf("%s %s a second, %.1f %% to be refused", name, decimal(p.OfferedRate), p.Ratio*100))
	}
	return strings.Join(all, "; ")
}

// counted tells the exact counts, which only a suspect has.
func counted(v edge.ExplainView) string {
	if !v.Suspect {
		return fmt.Sprintf("not exactly: the estimate is below %s, where suspects begin", decimal(v.PromoteAt))
	}
	text := fmt.Sprintf("exactly: %d admitted, %d offered in the last %s", v.Admitted, v.Offered, span(seconds(v.Window)))
	if v.SuspectSince != nil {
		text += ", a suspect for " + span(v.Now.Sub(*v.SuspectSince).Truncate(time.Second))
	}
	return text
}

func estimated(v edge.ExplainView) string {
	return fmt.Sprintf("%d by the sketch, with probability %.1f %% at most %s too many (an unseen key reads %s)",
		v.Estimate, v.Confidence*100, decimal(v.ErrorBound), decimal(v.NoiseFloor))
}

func flagged(f *edge.MitigationView, now time.Time) string {
	if f == nil {
		return "none"
	}
	text := f.Action
	if f.Action == "shed" {
		text += " " + ratio(f.Action, f.Ratio)
	}
	text += " by " + f.Source
	if !f.Since.IsZero() {
		text += ", for " + span(now.Sub(f.Since).Truncate(time.Second))
	}
	if !f.Expires.IsZero() {
		text += ", " + timeLeft(f.Expires, now) + " left"
	}
	if f.Reason != "" {
		text += " (" + f.Reason + ")"
	}
	return text
}

// barWidth is the length of the longest bar of the sub-windows' picture, in characters.
const barWidth = 30

// printSubWindows draws the sketch's sub-windows, oldest first.
func (a *app) printSubWindows(v edge.ExplainView) {
	var most int64
	for _, s := range v.SubWindows {
		most = max(most, s.Estimate)
	}
	if most == 0 {
		return
	}
	fmt.Fprintf(a.stdout, "  %s\n", a.paint(faint, "sub-windows, by the sketch"))
	for _, s := range v.SubWindows {
		age := "now"
		if ago := v.Now.Sub(s.Start).Truncate(100 * time.Millisecond); ago > 0 {
			age = "-" + span(ago)
		}
		bar := strings.Repeat("#", int(s.Estimate*barWidth/most))
		fmt.Fprintln(a.stdout, strings.TrimRight(fmt.Sprintf("  %8s %8d %s", age, s.Estimate, bar), " "))
	}
}

// decimal renders a number that is seldom whole to one decimal at most.
func decimal(x float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0")
}
