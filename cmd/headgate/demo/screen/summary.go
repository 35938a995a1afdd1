package screen

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/cmd/headgate/demo/story"
)

// Summary prints the result, for people.
func (l *Live) Summary(s *story.Summary) {
	w := l.app.Stdout
	fmt.Fprintf(w, "Limit: %d requests a second for each client, over %d PoPs. Played for %s, "+
		"seed %d.\n\n",
		s.Limit, len(s.PoPs), cli.Span(cli.Seconds(s.Seconds)), s.Seed)
	if len(s.Attack.Phases) > 0 {
		l.attack(&s.Attack)
	} else {
		fmt.Fprintln(w, "It ended before the attack began.")
	}
	fmt.Fprintf(w, "normal clients: %d, with %d requests, %s%s\n", s.Normal.Clients, s.Normal.Asked,
		l.app.Paint(goodStyle(s.Normal.Denied == 0), fmt.Sprintf("%d denied", s.Normal.Denied)),
		unanswered(s.Normal.Unanswered))
	for _, m := range s.Mitigations {
		fmt.Fprintf(w, "%s: %s %s, ratio up to %s, from %s s to %s s; source: %s\n",
			cli.Safe(m.PoP), l.app.Paint(cli.StateStyle(m.Action), cli.Safe(m.Action)),
			cli.Safe(m.Key), cli.Ratio(m.Action, m.Ratio), cli.Decimal(m.First),
			cli.Decimal(m.Last), sourceText(m.Source))
	}
	if s.Skipped > 0 {
		fmt.Fprintf(w, "The machine was too busy to send %s of requests in time; they were left "+
			"out.\n", batches(s.Skipped))
	}
	for _, p := range s.PoPs {
		fmt.Fprintf(w, "%s: ring %s\n", p.PoP, p.Ring)
	}
}

func batches(n uint64) string {
	if n == 1 {
		return "1 batch"
	}
	return cli.Grouped(int64(n)) + " batches" // far below 2^63
}

// attack prints the result of the attack, phase by phase.
func (l *Live) attack(s *story.Attack) {
	rows := [][]cli.Cell{cli.Header("PHASE", "POPS", "SECONDS", "ATTACK/S", "ADMITTED/S",
		"OF LIMIT", "BY SECOND", "WITHIN 5 % AFTER")}
	for n := range s.Phases {
		p := &s.Phases[n]
		rows = append(rows, []cli.Cell{
			cli.Left(p.Phase), cli.Left(strings.Join(p.PoPs, " ")),
			cli.Number(cli.Decimal(p.Seconds)), cli.Number(perSecond(p.Asked, p.Seconds)),
			cli.Number(perSecond(p.Admitted, p.Seconds)),
			{Text: hundredths(p.OfLimit), Right: true, Style: goodStyle(story.Near(p.OfLimit))},
			cli.Number(between(p)), cli.Number(after(p)),
		})
	}
	l.app.WriteTable(l.app.Stdout, rows)
	fmt.Fprintf(l.app.Stdout, "\nattack: %d requests, %d admitted: %s of the limit over %s%s; %s "+
		"more than 5 %% off the limit\n",
		s.Asked, s.Admitted, l.app.Paint(goodStyle(story.Near(s.OfLimit)),
			strconv.FormatFloat(s.OfLimit, 'f', 3, 64)),
		cli.Span(cli.Seconds(s.Seconds)), unanswered(s.Unanswered), cli.Count(s.Outside, "second"))
}

// goodStyle is the colour of a good figure, or a bad.
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

// between renders the admitted shares of the second with the fewest and with the most; a dash if
// none was whole.
func between(p *story.PhaseResult) string {
	if p.Most == 0 {
		return "-"
	}
	return hundredths(p.Least) + ".." + hundredths(p.Most)
}

// after renders the time after which the phase settled; a dash if no second was whole.
func after(p *story.PhaseResult) string {
	switch {
	case p.Settled != nil:
		return hundredths(*p.Settled) + " s"
	case p.Seconds < 1:
		return "-"
	}
	return "never"
}
