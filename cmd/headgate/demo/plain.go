package demo

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
)

// demoAudience is who a demo is told to. Its methods are called by one goroutine.
type demoAudience interface {
	opens(d *demo)                        // everything runs, nobody has asked yet
	phase(at time.Duration, p *demoPhase) // begins
	news(item demoNewsItem)               // of a flag
	board(b *demoBoard)                   // how it stands, twice a second
	keys() (keys <-chan byte, restore func())
	closes() // the summary follows
}

// demoPlain tells in lines: a word for the kind of line, and name=value pairs, texts with spaces in double quotes.
type demoPlain struct {
	w      io.Writer
	second int // that was told last
}

// line writes one line of pairs.
func (p *demoPlain) line(kind string, pairs ...any) {
	var b strings.Builder
	b.WriteString(kind)
	for n := 0; n+1 < len(pairs); n += 2 {
		fmt.Fprintf(&b, " %s=%s", pairs[n], plainValue(pairs[n+1]))
	}
	fmt.Fprintln(p.w, b.String())
}

// plainValue renders a value of a line.
func plainValue(v any) string {
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

func (p *demoPlain) opens(d *demo) {
	p.line("demo", "seed", d.flags.seed, "duration", d.flags.duration, "round", d.load.story.length, "rule", d.load.rule,
		"limit", demoLimit, "window", time.Second, "normal_clients", len(d.load.crowd.clients), "attacker", string(d.load.attacker))
	for _, one := range d.stage.pops {
		p.line("pop", "name", one.name, "node", one.node, "udp", one.udp, "http", one.http, "admin", one.admin,
			"dashboard", one.dashboard(), "ring", one.ring)
	}
}

func (p *demoPlain) phase(at time.Duration, phase *demoPhase) {
	p.line("phase", "t", at, "name", phase.name, "attack_at", cli.First(strings.Join(phase.where(), ","), "nowhere"), "says", phase.says)
}

func (p *demoPlain) news(i demoNewsItem) {
	p.line("flag", "t", i.at, "pop", demoPoPs[i.pop], "change", i.change, "rule", i.flag.Rule, "key", i.flag.Key,
		"action", i.flag.Action, "ratio", i.flag.Ratio, "by", i.flag.Source)
}

func (p *demoPlain) board(b *demoBoard) {
	second := int(b.at / time.Second)
	if second == p.second {
		return
	}
	p.second = second
	for pop := range b.rows {
		p.row(b, demoPoPs[pop], &b.rows[pop])
	}
	p.row(b, "all", &b.whole, "of_limit", b.share)
}

func (p *demoPlain) row(b *demoBoard, name string, r *demoRow, more ...any) {
	pairs := []any{"t", b.at, "pop", name, "attack_asked", r.attack.asked, "attack_admitted", r.attack.admitted}
	if name != "all" {
		pairs = append(pairs, "ratio", r.ratio, "by", cli.First(r.by, "none"))
	}
	pairs = append(pairs, "normal_asked", r.good.asked, "normal_refused", r.refused)
	p.line("second", append(pairs, more...)...)
}

func (p *demoPlain) keys() (keys <-chan byte, restore func()) { return nil, func() {} }

func (p *demoPlain) closes() {}

// summary tells the summary, a line for each thing.
func (p *demoPlain) summary(s *Summary) {
	for _, one := range s.Attack.Phases {
		p.line("summary-phase", "name", one.Phase, "attack_at", strings.Join(one.PoPs, ","), "seconds", one.Seconds, "asked", one.Asked,
			"admitted", one.Admitted, "of_limit", one.OfLimit, "least", one.Least, "most", one.Most, "settled", one.Settled)
	}
	for _, w := range s.Words {
		p.line("summary-flag", "pop", w.PoP, "rule", w.Rule, "key", w.Key, "action", w.Action, "by", w.Source,
			"first", w.First, "last", w.Last, "ratio", w.Ratio)
	}
	a := &s.Attack
	p.line("summary-seconds", "of_limit", joinShares(a.BySecond), "outside", a.Outside)
	p.line("summary", "held", s.Held, "complete", s.Complete, "seconds", s.Seconds, "attack_asked", a.Asked, "attack_admitted", a.Admitted,
		"attack_of_limit", a.OfLimit, "settled", a.Settled, "attack_unanswered", a.Unanswered, "normal_asked", s.Normal.Asked,
		"normal_refused", s.Normal.Refused, "normal_unanswered", s.Normal.Unanswered, "skipped", s.Skipped,
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
