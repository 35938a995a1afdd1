package replay

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/accesslog"
	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/cmd/headgate/oracle"
	"github.com/headgate-dev/headgate/mitigation"
)

// printFaults shows the first bad lines, and says how many more there were.
func printFaults(w io.Writer, faults *accesslog.Faults) {
	for _, f := range faults.First {
		fmt.Fprintln(w, cli.Safe(f.Error()))
	}
	if rest := faults.Count - int64(len(faults.First)); rest > 0 {
		fmt.Fprintf(w, "and %s\n", cli.Count(rest, "more bad line"))
	}
}

// writeReplay prints a summary for people.
func (a *app) writeReplay(s *replaySummary) {
	a.WriteTable(a.Stdout, totalRows(s))
	if s.Rule.Name == "" {
		fmt.Fprintln(a.Stdout)
		a.WriteTable(a.Stdout, policyRows(s.Policies))
	}
	if len(s.Rules) > 1 {
		fmt.Fprintln(a.Stdout)
		a.WriteTable(a.Stdout, askedRows(s.Rules))
	}
	if len(s.Top) > 0 {
		fmt.Fprintln(a.Stdout)
		a.WriteTable(a.Stdout, offenderRows(s.Top))
	}
	if s.Oracle != nil {
		a.writeOracle(s)
	}
}

func totalRows(s *replaySummary) [][]cli.Cell {
	rows := [][]cli.Cell{
		subject(s),
		fact("requests", cli.Grouped(s.Requests), stamp(s.Began)+" to "+stamp(s.Ended)),
		fact("keys", cli.Grouped(int64(s.Keys)), ""),
		fact("allowed", cli.Grouped(s.Allowed), percent(s.Allowed, s.Requests)),
		fact("denied", cli.Grouped(s.Denied), percent(s.Denied, s.Requests)+s.DeniedBy.String()),
		fact("denied keys", cli.Grouped(int64(s.Flagged)), "denied at least once"),
		fact("went back", cli.Grouped(s.WentBack), "records earlier than one before them"),
		fact("bad lines", cli.Grouped(s.BadLines), ""),
		fact("requests/s", cli.Grouped(int64(s.RequestsPS)),
			fmt.Sprintf("%.2f s in all", s.Seconds)),
	}
	if w := s.Delayed; w != nil {
		span := func(seconds float64) string {
			return cli.Span(cli.Seconds(seconds).Round(time.Millisecond))
		}
		rows = slices.Insert(rows, 4,
			fact("delayed", cli.Grouped(w.Requests),
				fmt.Sprintf("%s of all; waits of %s on average, %s median, %s p99, %s longest",
					percent(w.Requests, s.Requests), span(w.Mean), span(w.P50),
					span(w.P99), span(w.Longest))))
	}
	if s.Untold > 0 {
		rows = append(rows, fact("keys not tracked", cli.Grouped(s.Untold),
			"requests of keys past the first "+cli.Grouped(maxTallied)))
	}
	return rows
}

// subject is the first row: the rule, or the policies.
func subject(s *replaySummary) []cli.Cell {
	if s.Rule.Name == "" {
		return fact("policies", cli.Grouped(int64(len(s.Policies))),
			"all of the configuration, by method, path, client and status")
	}
	return fact(s.Rule.Name, cli.Grouped(s.Rule.Limit), s.Rule.per())
}

func policyRows(all []replayPolicy) [][]cli.Cell {
	rows := [][]cli.Cell{cli.Header("POLICY", "MATCHED", "DENIED", "IN SHADOW")}
	for _, p := range all {
		rows = append(rows, []cli.Cell{
			cli.Left(p.Name), count(p.Matched),
			count(p.Denied), count(p.Shadow),
		})
	}
	return rows
}

func askedRows(all []replayAsked) [][]cli.Cell {
	rows := [][]cli.Cell{cli.Header("RULE", "LIMIT", "COST ASKED", "DENIED", "IN SHADOW", "")}
	for _, r := range all {
		note := ""
		if r.Siblings > 0 {
			note = fmt.Sprintf("from %d narrower keys on", r.Siblings)
		}
		rows = append(rows, []cli.Cell{
			cli.Left(r.Name), cli.Number(cli.Grouped(r.Limit)),
			cli.Number(cli.Grouped(r.Offered)), cli.Number(cli.Grouped(r.Denied)),
			cli.Number(cli.Grouped(r.Shadow)), cli.Left(note),
		})
	}
	return rows
}

// count is a cell with a number.
func count(n uint64) cli.Cell { return cli.Number(cli.Grouped(int64(n))) } // far below 2^63

// String says on which grounds, where there are any.
func (g replayGrounds) String() string {
	var b strings.Builder
	for _, ground := range []struct {
		name string
		n    int64
	}{{"limit", g.Limit}, {"shed", g.Shed}, {"block", g.Block}, {"reserve", g.Reserve}, {
		"pending",
		g.Pending,
	}, {"policy", g.Policy}} {
		if ground.n > 0 {
			fmt.Fprintf(&b, ", %s %s", ground.name, cli.Grouped(ground.n))
		}
	}
	return b.String()
}

// fact is a row of a summary: name, value and remark.
func fact(name, value, note string) []cli.Cell {
	return []cli.Cell{cli.Left(name), cli.Number(value), cli.Left(note)}
}

func offenderRows(top []replayTop) [][]cli.Cell {
	rows := [][]cli.Cell{cli.Header("REQUESTS", "DENIED", "FIRST DENIED", "TOP OFFENDERS")}
	for _, k := range top {
		rows = append(rows, []cli.Cell{
			cli.Number(cli.Grouped(k.Requests)), cli.Number(cli.Grouped(k.Denied)),
			cli.Left(stamp(k.FirstDenied)), cli.Left(k.Key),
		})
	}
	return rows
}

// writeOracle prints both judgements.
func (a *app) writeOracle(s *replaySummary) {
	o := s.Oracle
	fmt.Fprintln(a.Stdout)
	a.WriteTable(a.Stdout, [][]cli.Cell{
		cli.Header("ENFORCEMENT, by admitted cost", "JUDGED", "WRONG DENY", "WORST", "WRONG ALLOW",
			"WORST", "OUTSIDE 2 %"),
		enforcementRow("every request", &o.Enforcement),
		enforcementRow("after a key's first window as a suspect", &o.Settled),
	})
	if s.Rule.Action == mitigation.Block.String() || o.ByFlag > 0 {
		fmt.Fprintf(a.Stdout, "Denials by a mitigation in force follow an earlier verdict and "+
			"are not compared here: %s.\n", cli.Grouped(o.ByFlag))
	}
	fmt.Fprintln(a.Stdout)
	a.WriteTable(a.Stdout, classificationRows(o))
}

func enforcementRow(name string, e *oracle.Enforcement) []cli.Cell {
	return []cli.Cell{
		cli.Left(name), cli.Number(cli.Grouped(e.Judged)),
		cli.Number(cli.Grouped(e.WrongDeny) + " = " + percent(e.WrongDeny, e.Judged)),
		cli.Number(limits(e.WorstDeny)),
		cli.Number(cli.Grouped(e.WrongAllow) + " = " + percent(e.WrongAllow, e.Judged)),
		cli.Number(limits(e.WorstAllow)),
		cli.Number(cli.Grouped(e.Outside)),
	}
}

func classificationRows(o *oracle.Score) [][]cli.Cell {
	c, k := &o.Classification, &o.Keys
	wrong := c.WrongOver + c.WrongUnder
	return [][]cli.Cell{
		cli.Header("CLASSIFICATION, by offered cost", "", ""),
		fact("requests over their limit", cli.Grouped(c.Over), percent(c.Over, c.Judged)),
		fact("wrong by the estimate", cli.Grouped(wrong),
			fmt.Sprintf("%s: %s called over, %s called under", percent(wrong, c.Judged),
				cli.Grouped(c.WrongOver), cli.Grouped(c.WrongUnder))),
		fact("rate error", percentOf(c.RateError),
			fmt.Sprintf("mean over %s requests of keys above a tenth of the limit",
				cli.Grouped(c.Rated))),
		fact("false positives", cli.Grouped(k.FalsePositives),
			"keys denied that never exceeded the limit"),
		fact("false negatives", cli.Grouped(k.FalseNegatives),
			fmt.Sprintf("of %s keys that exceeded it, never denied; worst %s", cli.Grouped(k.Over),
				limits(k.WorstMissed))),
	}
}

// limits words a share of the limit; 0: no error to measure.
func limits(share float64) string {
	if share == 0 {
		return "none"
	}
	return strconv.FormatFloat(share, 'f', 3, 64)
}

func percent(part, whole int64) string { return percentOf(float64(part) / float64(max(whole, 1))) }

// percentOf writes a share in percent so a small share keeps digits.
func percentOf(share float64) string {
	switch percent := 100 * share; {
	case percent == 0:
		return "0 %"
	case percent < 0.1:
		return strconv.FormatFloat(percent, 'f', 6, 64) + " %"
	default:
		return strconv.FormatFloat(percent, 'f', 1, 64) + " %"
	}
}

func stamp(t time.Time) string { return t.Format("2006-01-02 15:04:05") }
