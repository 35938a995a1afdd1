package demo

import (
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/cmd/headgate/demo/screen"
	"github.com/headgate-dev/headgate/cmd/headgate/demo/story"
)

// opening describes the demo.
func (d *demo) opening() *screen.Opening {
	o := &screen.Opening{
		Seed: d.flags.seed, Duration: d.flags.duration, Round: d.traffic.Story.Length,
		Clients: d.traffic.Clients, Attacker: d.traffic.Attacker,
	}
	for _, p := range d.stage.PoPs {
		o.PoPs = append(o.PoPs, screen.PoP{
			Name: p.Name, City: p.City, Node: p.Node, UDP: p.UDP, HTTP: p.HTTP, Admin: p.Admin,
			Dashboard: p.Dashboard(), Ring: p.Ring.String(),
		})
	}
	return o
}

// clients returns the clients of the PoPs' admin listeners.
func (d *demo) clients() (all []*cli.Client) {
	for _, p := range d.stage.PoPs {
		all = append(all, p.Client)
	}
	return all
}

// board returns the state at a time since the story began.
func (d *demo) board(at time.Duration) screen.Board {
	// bins by which the figures are behind the present: by then all requests of a bin are answered
	last := max(0, story.BinOf(at)-2)
	_, phase, _ := d.traffic.Story.At(at)
	b := screen.Board{At: at, Phase: phase}
	for pop := range b.Rows {
		row := &b.Rows[pop]
		row.Attack = d.record.Attack.At(pop, last-story.BinsASecond, last)
		row.Normal = d.record.Normal.At(pop, last-story.BinsASecond, last)
		row.Denied = d.record.Normal.Total(pop).Denied
		if m, there := d.watch.Of(pop, story.Rule, d.traffic.Attacker); there {
			row.Action, row.Ratio, row.Source = m.Action, m.Ratio, m.Source
		}
		b.Whole.Attack, b.Whole.Normal = b.Whole.Attack.Plus(row.Attack),
			b.Whole.Normal.Plus(row.Normal)
		b.Whole.Denied += row.Denied
	}
	b.Share = float64(b.Whole.Attack.Admitted) / story.Limit
	// the seconds a board looks back; a record remembers two rounds
	b.First = max(0, last/story.BinsASecond-150)
	b.Admitted = d.record.Attack.Shares(b.First*story.BinsASecond, last)
	b.Offered = d.record.Attack.Offered(b.First*story.BinsASecond, last)
	return b
}

// summary returns the result of a story played for played.
func (d *demo) summary(played time.Duration) *story.Summary {
	s := d.record.Summary(played)
	s.Seed, s.Complete = d.flags.seed, d.flags.duration > 0 && played >= d.flags.duration
	s.Attack.Key, s.Normal.Clients, s.Skipped = d.traffic.Attacker,
		d.traffic.Clients, d.load.Skipped()
	d.watch.Report(s)
	for n, p := range d.stage.PoPs {
		to := &s.PoPs[n]
		to.Node, to.Ring, to.RingFull, to.Dashboard = p.Node, p.Ring.String(),
			p.Ring.Full(), p.Dashboard()
	}
	return s
}
