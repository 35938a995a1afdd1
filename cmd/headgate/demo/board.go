package demo

import "time"

// demoDelay is how far behind the present the figures are shown: by then all of a time is answered.
const demoDelay = 2 // bins

// demoBoard is how it stands.
type demoBoard struct {
	at, length time.Duration // since the story began, and of it; 0: for ever
	phase      *demoPhase
	rows       [len(demoPoPs)]demoRow
	whole      demoRow
	share      float64   // of the limit that the attack was admitted in the last second
	shares     []float64 // of the last seconds, the newest last
}

// demoRow is one PoP's last second.
type demoRow struct {
	attack, good demoTally
	refused      int // of all requests of normal clients so far
	ratio        float64
	by           string // whose word the attacker's flag is; empty: there is none
}

// demoShown is how many seconds a board looks back.
const demoShown = 60

// board returns how it stands at a time since the story began.
func (d *demo) board(at time.Duration) demoBoard {
	last := max(0, binOf(at)-demoDelay)
	_, phase, _ := d.load.story.at(at)
	b := demoBoard{at: at, length: d.flags.duration, phase: &d.load.story.phases[phase]}
	for pop := range b.rows {
		row := &b.rows[pop]
		row.attack, row.good = d.load.attack.at(pop, last-demoBins, last), d.load.good.at(pop, last-demoBins, last)
		row.refused = d.load.good.total(pop).refused
		if flag, there := d.watch.flag(pop); there {
			row.ratio, row.by = flag.Ratio, flag.Source
		}
		b.whole.attack, b.whole.good = b.whole.attack.plus(row.attack), b.whole.good.plus(row.good)
		b.whole.refused += row.refused
	}
	b.share = float64(b.whole.attack.admitted) / d.load.limit
	from := last - demoShown*demoBins
	for from < 0 {
		from += demoBins
	}
	b.shares = d.load.attack.shares(from, last, d.load.limit)
	return b
}
