package ask

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/api"
)

// printWorld prints how the node stands with the other PoPs.
func (a *app) printWorld(g *api.GossipView) {
	a.printFields([][2]string{
		{"gossip", connected(g)},
		{"differ", differing(&g.Mismatches)},
		{"delay", lagging(g.Lag)},
		{"traffic", fmt.Sprintf("sent %s in %d packets, received %s in %d", sized(g.Bytes.Out),
			g.Packets.Out, sized(g.Bytes.In), g.Packets.In)},
		{"keys", keyed(&g.Keys)},
		{"errors", distressed(&g.GossipStats)},
		{"join", joining(g)},
	})
	a.WriteTable(a.Stdout, popRows(g.PoPs))
	a.WriteTable(a.Stdout, a.memberRows(g.Members))
}

// connected states whether other nodes are reached.
func connected(g *api.GossipView) string {
	others, pops := 0, 0
	for _, p := range g.PoPs {
		others += p.Alive
		if p.Alive > 0 {
			pops++
		}
	}
	switch {
	case g.Lost:
		return "lost: no trusted record from another node for too long, so failure_mode of " +
			"global rules applies"
	case !g.Connected && g.Mismatches.Clock > 0:
		return "no other node is trusted, clocks are more than a minute apart: this PoP counts " +
			"alone"
	case !g.Connected:
		return "no records from other nodes: this PoP counts alone"
	case others <= 1:
		return "connected, with no other nodes"
	}
	return fmt.Sprintf("connected: %d nodes in %d PoPs are alive, this one included", others, pops)
}

// differing names the settings not shared by members; "" when all are shared.
func differing(m *api.Mismatches) string {
	return listed([]counted64{
		{uint64(m.Ring), "nodes of this PoP with other ring servers"},
		{uint64(m.Rules), "nodes with other global rules"},
		{uint64(m.Wire), "nodes with another protocol version"},
		{uint64(m.Clock), "nodes with a clock more than a minute apart"},
	})
}

// lagging states the delay of records.
func lagging(l api.LagView) string {
	if l.Count == 0 {
		return "no records received yet"
	}
	text := fmt.Sprintf("records arrive after %s on average",
		cli.Seconds(l.Mean).Round(time.Millisecond))
	if l.P99 == nil {
		return text + ", some later than the largest delay measured"
	}
	return text + ", 99 % within " + cli.Span(cli.Seconds(*l.P99))
}

// keyed states the role of this node for the keys of global rules.
func keyed(k *api.ControlKeys) string {
	text := fmt.Sprintf("%d measured here, %d reported for the PoP, %d summed over all PoPs",
		k.Measured, k.Reported, k.Owned)
	if k.Shed > 0 {
		text += fmt.Sprintf(", %d of those above their limit", k.Shed)
	}
	return text
}

// distressed lists the faults; "" when there are none.
func distressed(s *api.GossipStats) string {
	list := []counted64{
		{uint64(s.Keys.Guarded), "keys for which many PoPs are silent"},
		{sum(s.Rejected), "records rejected (" + named(s.Rejected) + ")"},
		{sum(s.Dropped), "packets or records dropped (" + named(s.Dropped) + ")"},
		{s.Deferred, "reports postponed because the packet budget was used up"},
		{s.Full, "times a table was full"},
		{failedJoins(s), "failed joins"},
		{s.Conflicts, "sightings of another node with a name in use"},
	}
	return listed(list)
}

// settled reports whether every known member is alive or left on purpose, so an earlier failure to
// join is over.
func settled(s *api.GossipStats) bool {
	alive := 0
	for _, p := range s.PoPs {
		if p.Dead > 0 {
			return false
		}
		alive += p.Alive
	}
	return alive > 1
}

// failedJoins returns the number of failed joins; 0 once all members are alive.
func failedJoins(s *api.GossipStats) uint64 {
	if settled(s) {
		return 0
	}
	return s.JoinErrors
}

// joining returns the error of the last join on a line; "" if a join has succeeded since or all
// members are alive.
func joining(g *api.GossipView) string {
	if settled(&g.GossipStats) {
		return ""
	}
	return strings.Join(strings.Fields(g.JoinError), " ")
}

// counted64 is a number of things of a name.
type counted64 struct {
	n    uint64
	what string
}

// listed joins those with a number above 0.
func listed(all []counted64) string {
	var parts []string
	for _, c := range all {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%s: %d", c.what, c.n))
		}
	}
	return strings.Join(parts, ", ")
}

func sum(by map[string]uint64) (n uint64) {
	for _, count := range by {
		n += count
	}
	return n
}

// named returns the names with a number above 0, sorted.
func named(by map[string]uint64) string {
	var names []string
	for name, n := range by {
		if n > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// sized renders a number of bytes: 512 B, 3.4 kB, 12 MB.
func sized(n uint64) string {
	units := []string{"kB", "MB", "GB", "TB", "PB", "EB"}
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	x, unit := float64(n)/1000, 0
	for x >= 999.5 {
		x, unit = x/1000, unit+1
	}
	return fmt.Sprintf("%.3g %s", x, units[unit])
}

func popRows(pops []api.PoPMembers) [][]cli.Cell {
	rows := [][]cli.Cell{cli.Header("POP", "ALIVE", "DEAD", "LEFT")}
	for _, p := range pops {
		dead := cli.Number(strconv.Itoa(p.Dead))
		if p.Dead > 0 {
			dead.Style = cli.Red
		}
		rows = append(rows, []cli.Cell{
			cli.Left(p.PoP), cli.Number(strconv.Itoa(p.Alive)), dead,
			cli.Number(strconv.Itoa(p.Left)),
		})
	}
	return rows
}

func (a *app) memberRows(members []api.Member) [][]cli.Cell {
	var self api.Member
	for _, m := range members {
		if m.Self {
			self = m
		}
	}
	rows := [][]cli.Cell{cli.Header("MEMBER", "POP", "STATE", "FOR", "ADDRESS",
		"VERSION", "DIFFERS IN")}
	for _, m := range members {
		name := m.Name
		if m.Self {
			name += " (this)"
		}
		rows = append(rows, []cli.Cell{
			cli.Left(name), cli.Left(m.PoP), memberState(m.State),
			cli.Number(cli.Span(a.Now().Sub(m.Since).Truncate(time.Second))),
			cli.Left(m.Address), cli.Left(m.Version),
			{Text: differsIn(&self, &m), Style: cli.Yellow},
		})
	}
	return rows
}

func memberState(state string) cli.Cell {
	c := cli.Left(state)
	switch state {
	case "alive":
		c.Style = cli.Green
	case "dead":
		c.Style = cli.Red
	}
	return c
}

// differsIn names the settings in which a living member differs from this node. A value lacking in
// either is no difference.
func differsIn(self, m *api.Member) string {
	var in []string
	if m.State != "alive" || m.Self {
		return ""
	}
	if m.PoP == self.PoP && m.Ring != self.Ring {
		in = append(in, "ring")
	}
	if m.Rules != self.Rules && m.Rules != "" && self.Rules != "" {
		in = append(in, "rules")
	}
	if m.Wire != self.Wire && m.Wire != 0 && self.Wire != 0 {
		in = append(in, "wire")
	}
	if self.Limits && !m.Limits {
		in = append(in, "limits by hand")
	}
	switch {
	case m.Ahead != 0:
		in = append(in, "clock "+aside(cli.Seconds(m.Ahead)))
	case m.Offset != 0:
		in = append(in, "clock "+aside(time.Duration(m.Offset)*time.Millisecond)+", corrected")
	}
	return strings.Join(in, ", ")
}

// aside states the distance of a clock from this node's: 1m2s ahead, 1m2s behind.
func aside(ahead time.Duration) string {
	side := " ahead"
	if ahead < 0 {
		side = " behind"
	}
	if ahead = ahead.Abs(); ahead >= time.Second {
		ahead = ahead.Truncate(time.Second)
	}
	return cli.Span(ahead) + side
}
