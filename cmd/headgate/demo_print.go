package main

import (
	"fmt"
	"strconv"
	"strings"
)

// printDemo tells people what came of a demo.
func (a *app) printDemo(s *demoSummary) {
	w := a.stdout
	fmt.Fprintf(w, "%d requests a second were allowed to each client over %d PoPs, for %s (seed %d).\n\n",
		s.Limit, len(s.PoPs), span(seconds(s.Seconds)), s.Seed)
	if len(s.Attack.Phases) > 0 {
		a.printDemoAttack(&s.Attack)
	} else {
		fmt.Fprintln(w, "It ended before the attack began.")
	}
	fmt.Fprintf(w, "normal clients: %d of them, %d requests, %s%s\n", s.Normal.Clients, s.Normal.Asked,
		a.paint(goodStyle(s.Normal.Refused == 0), fmt.Sprintf("%d refused", s.Normal.Refused)), unanswered(s.Normal.Unanswered))
	a.printDemoWords(s.Words)
	if s.Skipped > 0 {
		fmt.Fprintf(w, "The machine was too busy to ask in time %s; what was late was not asked.\n", count(s.Skipped, "time"))
	}
	for _, p := range s.PoPs {
		fmt.Fprintf(w, "%s counted in %s\n", p.PoP, p.Ring)
	}
}

// printDemoAttack tells what came of the attack, phase by phase.
func (a *app) printDemoAttack(s *demoAttack) {
	rows := [][]cell{header("ATTACK", "AT", "SECONDS", "ASKED/S", "ADMITTED/S", "OF LIMIT", "BY SECOND", "WITHIN 5 % AFTER")}
	for _, p := range s.Phases {
		rows = append(rows, []cell{
			left(p.Phase), left(strings.Join(p.PoPs, " ")), number(decimal(p.Seconds)), number(perSecond(p.Asked, p.Seconds)),
			number(perSecond(p.Admitted, p.Seconds)),
			{text: hundredths(p.OfLimit), right: true, style: goodStyle(near(p.OfLimit))},
			number(p.between()), number(p.after()),
		})
	}
	a.writeTable(a.stdout, rows)
	fmt.Fprintf(a.stdout, "\nattack: %d asked, %d admitted: %s of the limit over %s%s; %d of its seconds more than 5 %% off\n",
		s.Asked, s.Admitted, a.paint(goodStyle(near(s.OfLimit)), strconv.FormatFloat(s.OfLimit, 'f', 3, 64)), span(seconds(s.Seconds)),
		unanswered(s.Unanswered), s.Outside)
}

// printDemoWords tells who flagged whom.
func (a *app) printDemoWords(words []demoWord) {
	for _, w := range words {
		fmt.Fprintf(a.stdout, "%s flagged %s: %s, up to %s, %s; seen from %s s to %s s\n", safe(w.PoP), safe(w.Key),
			a.paint(stateStyle(w.Action), safe(w.Action)), ratio(w.Action, w.Ratio), byWhom(w.Source), decimal(w.First), decimal(w.Last))
	}
}

// goodStyle is how a figure is shown that is as it should be, or not.
func goodStyle(good bool) style {
	if good {
		return green
	}
	return red
}

func unanswered(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d unanswered", n)
}

func perSecond(n int, seconds float64) string {
	return strconv.FormatFloat(float64(n)/seconds, 'f', 0, 64)
}

func hundredths(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }

// between renders what was admitted in the least second and in the most; a dash when no second was whole.
func (p *demoPhaseResult) between() string {
	if p.Most == 0 {
		return "-"
	}
	return hundredths(p.Least) + ".." + hundredths(p.Most)
}

// after renders after how long the phase settled; a dash when no second was whole.
func (p *demoPhaseResult) after() string {
	if p.Settled == nil && p.Seconds < 1 {
		return "-"
	}
	return after(p.Settled)
}

func after(settled *float64) string {
	if settled == nil {
		return "never"
	}
	return hundredths(*settled) + " s"
}
