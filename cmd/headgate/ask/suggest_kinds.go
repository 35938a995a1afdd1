package ask

import (
	"fmt"
	"math"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/mitigation"
)

// suggestLimit names the limit in the terms of the kind: 100 per 10s; 20 at once, 10 per 1s; 3
// places a key.
func suggestLimit(v api.SuggestView) string {
	if v.Kind == mitigation.Concurrency.String() {
		return cli.Count(v.Limit, "place") + " a key"
	}
	text := cli.Grouped(v.Limit) + " per " + cli.Span(cli.Seconds(v.Window))
	if v.Burst > 0 {
		text = cli.Grouped(v.Burst) + " at once, " + text
	}
	if v.Delay > 0 {
		text += ", waits up to " + cli.Span(cli.Seconds(v.Delay))
	}
	if v.Counts != "" {
		text += ", counts " + cli.Safe(v.Counts)
	}
	return text
}

// suggestSeen tells the other observations: how many requests were denied, how long requests
// waited, how many places keys held.
func suggestSeen(v api.SuggestView) string {
	// far below 2^63
	text := fmt.Sprintf("\nobserved: %s of %s denied", cli.Grouped(int64(v.Observed.Denied)),
		cli.Count(v.Observed.Requests, "request"))
	if w := v.Waited; w != nil {
		text += fmt.Sprintf("; %s waited, %s on average", cli.Grouped(int64(w.Requests)),
			cli.Span(cli.Seconds(w.Mean).Round(time.Millisecond)))
	}
	if h := v.Held; h != nil {
		text += fmt.Sprintf("; a key held %s places on average and %s at most", cli.Decimal(h.Mean),
			cli.Grouped(h.Most))
	}
	return text
}

// printPoolSeen prints how busy a pool was.
func (a *app) printPoolSeen(v api.SuggestView) {
	p := v.Pool
	percent := func(share float64) string { return fmt.Sprintf("%.0f %%", share*100) }
	fmt.Fprintf(a.Stdout, "%s  pool, sheds above %s, restores below %s\n", cli.Safe(v.Rule),
		percent(p.ShedAbove), percent(p.RestoreBelow))
	fmt.Fprintf(a.Stdout, "reports for %s, none for %s; shed %s of the time, %s denied\n\n",
		cli.Span(cli.Seconds(p.Heard)), cli.Span(cli.Seconds(p.Silent)), cli.ShareText(p.Shedding),
		cli.Count(p.Denied, "request"))
	if p.Heard == 0 {
		fmt.Fprintln(a.Stdout, "no data yet: there was no report of how busy it is")
		return
	}
	rows := [][]cli.Cell{cli.Header("BUSY FROM", "OF THE TIME", "")}
	for _, r := range p.Busy {
		note := ""
		if math.Abs(r.Above-p.ShedAbove) < 0.001 {
			note = "shed_above"
		} else if math.Abs(r.Above-p.RestoreBelow) < 0.001 {
			note = "restore_below"
		}
		rows = append(rows, []cli.Cell{
			cli.Number(percent(r.Above)),
			cli.Number(cli.ShareText(r.Share)), cli.Left(note),
		})
	}
	a.WriteTable(a.Stdout, rows)
	fmt.Fprintln(a.Stdout)
	rows = [][]cli.Cell{cli.Header("TIER", "DENIED ON AVERAGE")}
	for _, t := range p.Tiers {
		rows = append(rows, []cli.Cell{cli.Left(t.Tier), cli.Number(cli.ShareText(t.Ratio))})
	}
	a.WriteTable(a.Stdout, rows)
	fmt.Fprintln(a.Stdout, "These are the shares in use that were left after what was shed: what "+
		"would have been without is not known.")
}

// suggestCaveats names the limits of the table's evidence, a line each.
func suggestCaveats(v api.SuggestView) (lines []string) {
	add := func(when bool, line string, args ...any) {
		if when {
			lines = append(lines, fmt.Sprintf(line, args...))
		}
	}
	add(v.Kind == mitigation.Concurrency.String(),
		"Keys are looked at twice a second: shares assume that requests above a limit take as "+
			"long as others, and a peak between two looks is not seen.")
	add(v.Kind == mitigation.Concurrency.String(), "More than the rule's %s are never held: "+
		"headgate replay --suggest tries more on an access log.", cli.Count(v.Limit, "place"))
	add(v.Action == mitigation.Block.String(), "The rule blocks: for limits other than its own "+
		"the share of cost is an estimate, accurate to a few percent.")
	add(v.Counts != "", "Denied requests count: for limits other than its own the share of cost "+
		"is an estimate, to about one limit for each time that a key goes over it.")
	add(v.Shared && v.Burst == 0, "Several nodes share this rule: shares refer to the traffic at "+
		"all nodes of the keys seen by this one.")
	add(v.Shared && v.Burst > 0, "Several nodes share this rule: what the other nodes denied is "+
		"not included.")
	add(v.Sample.AllFrom > 0, "Below a limit of %s the figures come from a sample of %s keys.",
		cli.Grouped(int64(v.Sample.AllFrom)), cli.Grouped(int64(v.Sample.Keys)))
	add(v.Sample.BlindTo > 0 && v.Burst == 0,
		"The sample was full: keys with a cost of less than %s in a window may be missing.",
		cli.Grouped(v.Sample.BlindTo))
	add(v.Sample.BlindTo > 0 && v.Burst > 0, "Keys that take fewer than %s at once may be "+
		"missing: their buckets can be full again before they are looked "+
		"at.", cli.Count(v.Sample.BlindTo, "token"))
	add(v.Sample.LateLooks > 0, "The daemon was busy: %s of keys came too late to include all "+
		"their requests.", cli.Count(v.Sample.LateLooks, "reading"))
	return lines
}
