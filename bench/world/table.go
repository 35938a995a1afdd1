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

// line prints a target's line if a run measured it, and returns the number of misses.
func (t *target) line(out io.Writer, f fleet, runs []values) (missed int) {
	var cells []string
	for _, v := range runs {
		// Not in one run, then in none: all seeds ran the same scenarios.
		value, ok := v[t.name]
		if !ok {
			return 0
		}
		cells = append(cells, t.show(value))
		if t.demanded(f) && !t.passes(f, value) {
			missed++
		}
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
