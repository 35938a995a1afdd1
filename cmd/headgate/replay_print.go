package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/accesslog"
	"github.com/headgate-dev/headgate/cmd/headgate/oracle"
	"github.com/headgate-dev/headgate/mitigation"
)

// printFaults shows the first bad lines, and says how many more there were.
func printFaults(w io.Writer, faults *accesslog.Faults) {
	for _, f := range faults.First {
		fmt.Fprintln(w, safe(f.Error()))
	}
	if rest := faults.Count - int64(len(faults.First)); rest > 0 {
		fmt.Fprintf(w, "and %s\n", count(rest, "more bad line"))
	}
}

// writeReplay prints a summary for people.
func (a *app) writeReplay(s *replaySummary) {
	a.writeTable(a.stdout, totalRows(s))
	if len(s.Top) > 0 {
		fmt.Fprintln(a.stdout)
		a.writeTable(a.stdout, offenderRows(s.Top))
	}
	if s.Oracle != nil {
		a.writeOracle(s)
	}
}

func totalRows(s *replaySummary) [][]cell {
	rows := [][]cell{
		fact(s.Rule.Name, grouped(s.Rule.Limit), fmt.Sprintf("per %s, %s", span(seconds(s.Rule.Window)), s.Rule.Action)),
		fact("requests", grouped(s.Requests), stamp(s.Began)+" to "+stamp(s.Ended)),
		fact("keys", grouped(int64(s.Keys)), ""),
		fact("allowed", grouped(s.Allowed), percent(s.Allowed, s.Requests)),
		fact("denied", grouped(s.Denied), percent(s.Denied, s.Requests)+s.DeniedBy.String()),
		fact("flagged keys", grouped(int64(s.Flagged)), "refused at least once"),
		fact("went back", grouped(s.WentBack), "records earlier than one before them"),
		fact("bad lines", grouped(s.BadLines), ""),
		fact("requests/s", grouped(int64(s.RequestsPS)), fmt.Sprintf("%.2f s in all", s.Seconds)),
	}
	if s.Untold > 0 {
		rows = append(rows, fact("not told apart", grouped(s.Untold), "requests of keys past the first "+grouped(maxTallied)))
	}
	return rows
}

// String says on which grounds, where there are any.
func (g replayGrounds) String() string {
	var b strings.Builder
	for _, ground := range []struct {
		name string
		n    int64
	}{{"limit", g.Limit}, {"shed", g.Shed}, {"block", g.Block}} {
		if ground.n > 0 {
			fmt.Fprintf(&b, ", %s %s", ground.name, grouped(ground.n))
		}
	}
	return b.String()
}

// fact is one row of a summary: what, how much, and what to know about it.
func fact(name, value, note string) []cell {
	return []cell{left(name), number(value), left(note)}
}

func offenderRows(top []replayTop) [][]cell {
	rows := [][]cell{header("REQUESTS", "DENIED", "FIRST DENIED", "TOP OFFENDERS")}
	for _, k := range top {
		rows = append(rows, []cell{
			number(grouped(k.Requests)), number(grouped(k.Denied)), left(stamp(k.FirstDenied)), left(k.Key),
		})
	}
	return rows
}

// writeOracle prints both judgements.
func (a *app) writeOracle(s *replaySummary) {
	o := s.Oracle
	fmt.Fprintln(a.stdout)
	a.writeTable(a.stdout, [][]cell{
		header("ENFORCEMENT, against what was admitted", "JUDGED", "WRONG DENY", "WORST", "WRONG ALLOW", "WORST", "OUTSIDE 2 %"),
		enforcementRow("every request", &o.Enforcement),
		enforcementRow("after a key's first window as a suspect", &o.Settled),
	})
	if s.Rule.Action == mitigation.Block.String() || o.ByFlag > 0 {
		fmt.Fprintf(a.stdout, "Refusals by flag follow an earlier verdict and are not judged here: %s.\n", grouped(o.ByFlag))
	}
	fmt.Fprintln(a.stdout)
	a.writeTable(a.stdout, classificationRows(o))
}

func enforcementRow(name string, e *oracle.Enforcement) []cell {
	return []cell{
		left(name), number(grouped(e.Judged)),
		number(grouped(e.WrongDeny) + " = " + percent(e.WrongDeny, e.Judged)), number(limits(e.WorstDeny)),
		number(grouped(e.WrongAllow) + " = " + percent(e.WrongAllow, e.Judged)), number(limits(e.WorstAllow)),
		number(grouped(e.Outside)),
	}
}

func classificationRows(o *oracle.Score) [][]cell {
	c, k := &o.Classification, &o.Keys
	wrong := c.WrongOver + c.WrongUnder
	return [][]cell{
		header("CLASSIFICATION, against what was offered", "", ""),
		fact("requests over their limit", grouped(c.Over), percent(c.Over, c.Judged)),
		fact("wrong by the estimate", grouped(wrong),
			fmt.Sprintf("%s: %s called over, %s called under", percent(wrong, c.Judged), grouped(c.WrongOver), grouped(c.WrongUnder))),
		fact("rate error", percentOf(c.RateError), fmt.Sprintf("mean over %s requests of keys above a tenth of the limit", grouped(c.Rated))),
		fact("false positives", grouped(k.FalsePositives), "keys refused that never exceeded the limit"),
		fact("false negatives", grouped(k.FalseNegatives),
			fmt.Sprintf("of %s keys that exceeded it, never refused; worst %s", grouped(k.Over), limits(k.WorstMissed))),
	}
}

// limits words a share of the limit; 0 means that there was no error to take it from.
func limits(share float64) string {
	if share == 0 {
		return "none"
	}
	return strconv.FormatFloat(share, 'f', 3, 64)
}

func percent(part, whole int64) string { return percentOf(float64(part) / float64(max(whole, 1))) }

// percentOf writes a share in percent so that a small one keeps its digits.
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

// grouped writes n with a comma between thousands.
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	var b strings.Builder
	for i, c := range digits {
		if left := len(digits) - i; i > 0 && left%3 == 0 && digits[i-1] != '-' {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String()
}

func stamp(t time.Time) string { return t.Format("2006-01-02 15:04:05") }
