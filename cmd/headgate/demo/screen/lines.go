package screen

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/cmd/headgate/demo/story"
)

// Lines reports a demo in lines: the kind of the line, and name=value pairs, texts with spaces in
// double quotes. For a single goroutine.
type Lines struct {
	W      io.Writer
	second int // of the last board
}

// line writes a line of pairs.
func (l *Lines) line(kind string, pairs ...any) {
	var b strings.Builder
	b.WriteString(kind)
	for n := 0; n+1 < len(pairs); n += 2 {
		fmt.Fprintf(&b, " %s=%s", pairs[n], value(pairs[n+1]))
	}
	fmt.Fprintln(l.W, b.String())
}

// value renders a value of a line.
func value(v any) string {
	switch v := v.(type) {
	case float64:
		return strconv.FormatFloat(v, 'f', 3, 64)
	case time.Duration:
		return strconv.FormatFloat(v.Seconds(), 'f', 2, 64)
	case *float64:
		if v == nil {
			return "none"
		}
		return strconv.FormatFloat(*v, 'f', 2, 64)
	}
	text := cli.Safe(fmt.Sprint(v))
	if text == "" || strings.ContainsAny(text, ` "=`) {
		return strconv.Quote(text)
	}
	return text
}

// Open reports the demo and the PoPs.
func (l *Lines) Open(o *Opening) {
	l.line("demo", "seed", o.Seed, "duration", o.Duration, "round", o.Round, "rule", story.Rule,
		"limit", story.Limit, "window", time.Second, "normal_clients", o.Clients,
		"attacker", o.Attacker)
	for _, p := range o.PoPs {
		l.line("pop", "name", p.Name, "node", p.Node, "udp", p.UDP, "http", p.HTTP, "admin",
			p.Admin, "dashboard", p.Dashboard, "ring", p.Ring)
	}
}

// Phase reports the beginning of a phase.
func (l *Lines) Phase(at time.Duration, p *story.Phase) {
	l.line("phase", "t", at, "name", p.Name, "attack_at",
		cli.First(strings.Join(p.Where(), ","), "nowhere"), "text", p.Text)
}

// Change reports a change of a PoP's mitigations.
func (l *Lines) Change(c Change) {
	m := &c.Mitigation
	l.line("mitigation", "t", c.At, "pop", story.PoPs[c.PoP], "change", c.Kind, "rule",
		m.Rule, "key", m.Key,
		"action", m.Action, "ratio", m.Ratio, "source", m.Source)
}

// Board reports the state, once a second.
func (l *Lines) Board(b *Board) {
	second := int(b.At / time.Second)
	if second == l.second {
		return
	}
	l.second = second
	for pop := range b.Rows {
		l.row(b, story.PoPs[pop], &b.Rows[pop])
	}
	l.row(b, "all", &b.Whole, "of_limit", b.Share)
}

func (l *Lines) row(b *Board, name string, r *Row, more ...any) {
	pairs := []any{
		"t", b.At, "pop", name, "attack_asked", r.Attack.Asked,
		"attack_admitted", r.Attack.Admitted,
	}
	if name != "all" {
		pairs = append(pairs, "ratio", r.Ratio, "source", cli.First(r.Source, "none"))
	}
	pairs = append(pairs, "normal_asked", r.Normal.Asked, "normal_denied", r.Denied)
	l.line("second", append(pairs, more...)...)
}

// Keys returns no keys: lines are for scripts.
func (l *Lines) Keys() (keys <-chan byte, restore func()) { return nil, func() {} }

// Pause does nothing: lines go on.
func (l *Lines) Pause() {}

// Close does nothing: the summary follows.
func (l *Lines) Close() {}

// Summary reports the result, a line for each phase and mitigation.
func (l *Lines) Summary(s *story.Summary) {
	for _, one := range s.Attack.Phases {
		l.line("summary-phase", "name", one.Phase, "attack_at", strings.Join(one.PoPs, ","),
			"seconds", one.Seconds, "asked", one.Asked,
			"admitted", one.Admitted, "of_limit", one.OfLimit, "least", one.Least, "most", one.Most,
			"settled", one.Settled, "delay", one.Delay)
	}
	for _, m := range s.Mitigations {
		l.line("summary-mitigation", "pop", m.PoP, "rule", m.Rule, "key", m.Key, "action",
			m.Action, "source", m.Source,
			"first", m.First, "last", m.Last, "ratio", m.Ratio)
	}
	a := &s.Attack
	l.line("summary-seconds", "of_limit", joinShares(a.BySecond), "outside", a.Outside)
	l.line("summary", "held", s.Held, "complete", s.Complete, "seconds", s.Seconds, "attack_asked",
		a.Asked, "attack_admitted", a.Admitted,
		"attack_of_limit", a.OfLimit, "settled", a.Settled, "attack_unanswered", a.Unanswered,
		"normal_asked", s.Normal.Asked,
		"normal_denied", s.Normal.Denied, "normal_unanswered", s.Normal.Unanswered,
		"skipped", s.Skipped,
		"unkept", s.Unkept, "missed", s.Missed)
}

// joinShares renders shares of the limit: 1.02,0.99.
func joinShares(all []float64) string {
	texts := make([]string, len(all))
	for n, share := range all {
		texts[n] = strconv.FormatFloat(share, 'f', 3, 64)
	}
	return cli.First(strings.Join(texts, ","), "none")
}
