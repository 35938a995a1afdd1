package demo

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
)

// printDemo prints the result of a demo.
func (a *app) printDemo(s *Summary) {
	w := a.Stdout
	fmt.Fprintf(w, "%d requests a second were allowed to each client over %d PoPs, for %s (seed %d).\n\n",
		s.Limit, len(s.PoPs), cli.Span(cli.Seconds(s.Seconds)), s.Seed)
	if len(s.Attack.Phases) > 0 {
		a.printDemoAttack(&s.Attack)
	} else {
		fmt.Fprintln(w, "It ended before the attack began.")
	}
	fmt.Fprintf(w, "normal clients: %d of them, %d requests, %s%s\n", s.Normal.Clients, s.Normal.Asked,
		a.Paint(goodStyle(s.Normal.Refused == 0), fmt.Sprintf("%d refused", s.Normal.Refused)), unanswered(s.Normal.Unanswered))
	a.printDemoWords(s.Words)
	if s.Skipped > 0 {
		fmt.Fprintf(w, "The machine was too busy to ask in time %s; what was late was not asked.\n", cli.Count(s.Skipped, "time"))
	}
	for _, p := range s.PoPs {
		fmt.Fprintf(w, "%s counted in %s\n", p.PoP, p.Ring)
	}
}

// printDemoAttack prints the result of the attack, phase by phase.
func (a *app) printDemoAttack(s *demoAttack) {
	rows := [][]cli.Cell{cli.Header("ATTACK", "AT", "SECONDS", "ASKED/S", "ADMITTED/S", "OF LIMIT", "BY SECOND", "WITHIN 5 % AFTER")}
	for _, p := range s.Phases {
		rows = append(rows, []cli.Cell{
			cli.Left(p.Phase), cli.Left(strings.Join(p.PoPs, " ")), cli.Number(cli.Decimal(p.Seconds)), cli.Number(perSecond(p.Asked, p.Seconds)),
			cli.Number(perSecond(p.Admitted, p.Seconds)),
			{Text: hundredths(p.OfLimit), Right: true, Style: goodStyle(near(p.OfLimit))},
			cli.Number(p.between()), cli.Number(p.after()),
		})
	}
	a.WriteTable(a.Stdout, rows)
	fmt.Fprintf(a.Stdout, "\nattack: %d asked, %d admitted: %s of the limit over %s%s; %d of its seconds more than 5 %% off\n",
		s.Asked, s.Admitted, a.Paint(goodStyle(near(s.OfLimit)), strconv.FormatFloat(s.OfLimit, 'f', 3, 64)), cli.Span(cli.Seconds(s.Seconds)),
		unanswered(s.Unanswered), s.Outside)
}

// printDemoWords tells who flagged whom.
func (a *app) printDemoWords(words []demoWord) {
	for _, w := range words {
		fmt.Fprintf(a.Stdout, "%s flagged %s: %s, up to %s, %s; seen from %s s to %s s\n", cli.Safe(w.PoP), cli.Safe(w.Key),
			a.Paint(cli.StateStyle(w.Action), cli.Safe(w.Action)), cli.Ratio(w.Action, w.Ratio), byWhom(w.Source), cli.Decimal(w.First), cli.Decimal(w.Last))
	}
}

// goodStyle is how a figure is shown that is as it should be, or not.
func goodStyle(good bool) cli.Style {
	if good {
		return cli.Green
	}
	return cli.Red
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

// between renders the admitted share of the least second and of the most; a dash if no second was whole.
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
