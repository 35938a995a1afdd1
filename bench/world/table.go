package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// report prints the table of a fleet, a column for each seed, and returns the number of missed
// targets.
func report(out io.Writer, f fleet, seeds []uint64, runs []values) (missed int) {
	fmt.Fprintf(out, "\n%d nodes in %d PoPs, flush %v, batch %v, rates %s\n", f.nodes, f.pops,
		f.flush, f.batch, f.evidence)
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "row\twhat")
	for _, seed := range seeds {
		fmt.Fprintf(t, "\tseed %d", seed)
	}
	fmt.Fprintln(t, "\tsimple model\ttarget\t")
	for k := range targets {
		missed += targets[k].line(t, f, runs)
	}
	_ = t.Flush() // the command reports a writer that fails, at its end
	return missed
}

// line prints a target's line if a run measured it, and returns 1 for a miss.
func (t *target) line(out io.Writer, f fleet, runs []values) (missed int) {
	var cells []string
	var all []float64
	for _, v := range runs {
		// Not in one run, then in none: all seeds ran the same scenarios.
		value, ok := v[t.name]
		if !ok {
			return 0
		}
		cells, all = append(cells, t.show(value)), append(all, value)
	}
	if t.demanded(f) && !t.holds(f, all) {
		missed = 1
	}
	row, verdict := "", ""
	if t.demanded(f) {
		row, verdict = strconv.Itoa(t.row), "PASS"
	}
	if missed > 0 {
		verdict = "MISS"
	}
	sim := ""
	if v, ok := t.simulated(f); ok {
		sim = t.show(v)
	}
	fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\n", row, t.label, strings.Join(cells, "\t"), sim,
		t.wanted(f), verdict)
	return missed
}

// chance is how far a seed may be outside of a required range without counting as outside.
const chance = 0.02

// holds reports whether the mean of the seeds is in the required range, and at most one seed in ten
// is outside of it by more than chance.
func (t *target) holds(f fleet, seeds []float64) bool {
	sum, outside := 0.0, 0
	for _, v := range seeds {
		if sum += v; v < t.least-chance || v > t.upper(f)+chance {
			outside++
		}
	}
	return t.passes(f, sum/float64(len(seeds))) && outside <= len(seeds)/10
}

// show formats a value with the target's digits.
func (t *target) show(v float64) string { return strconv.FormatFloat(v, 'f', t.digits, 64) }

// wanted formats the required range; "" for none.
func (t *target) wanted(f fleet) string {
	switch {
	case !t.demanded(f):
		return ""
	// An index of fairness cannot be above 1: only its lower end says something.
	case t.most == 1:
		return "≥ " + t.show(t.least)
	case t.least > 0:
		return t.show(t.least) + "–" + t.show(t.upper(f))
	}
	return "≤ " + t.show(t.upper(f))
}
