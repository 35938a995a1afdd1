package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/edge"
)

// printWorld prints how the node stands with the other PoPs.
func (a *app) printWorld(g *edge.GossipView) {
	a.printFields([][2]string{
		{"gossip", connected(g)},
		{"differ", differing(&g.Mismatches)},
		{"heard", lagging(g.Lag)},
		{"traffic", fmt.Sprintf("sent %s in %d packets, got %s in %d", sized(g.Bytes.Out), g.Packets.Out, sized(g.Bytes.In), g.Packets.In)},
		{"keys", keyed(&g.Keys)},
		{"trouble", distressed(&g.WorldStats)},
		{"join", g.JoinError},
	})
	a.writeTable(a.stdout, popRows(g.PoPs))
	a.writeTable(a.stdout, a.memberRows(g.Members))
}

// connected tells whether others are heard.
func connected(g *edge.GossipView) string {
	others, pops := 0, 0
	for _, p := range g.PoPs {
		others += p.Alive
		if p.Alive > 0 {
			pops++
		}
	}
	switch {
	case g.Lost:
		return "nobody else is heard for long: the failure modes of global rules act"
	case !g.Connected:
		return "nobody else is heard: this PoP counts alone"
	case others <= 1:
		return "connected, and nobody else is there"
	}
	return fmt.Sprintf("connected: %d nodes of %d PoPs are alive, this one included", others, pops)
}

// differing tells what members do not share; "" when they share it all.
func differing(m *edge.WorldMismatches) string {
	return listed([]counted64{
		{uint64(m.Ring), "nodes of this PoP with other ring servers"},
		{uint64(m.Rules), "nodes with other global rules"},
		{uint64(m.Wire), "nodes that speak another version"},
	})
}

// lagging tells how late news is.
func lagging(l edge.LagView) string {
	if l.Count == 0 {
		return "no news yet"
	}
	text := fmt.Sprintf("news after %s on average", seconds(l.Mean).Round(time.Millisecond))
	if l.P99 == nil {
		return text + ", some after more than can be told apart"
	}
	return text + ", 99 % within " + span(seconds(*l.P99))
}

// keyed tells this node's part in the keys of global rules.
func keyed(k *edge.WorldKeys) string {
	text := fmt.Sprintf("%d measured here, %d reported for the PoP, %d added up", k.Measured, k.Reported, k.Owned)
	if k.Shed > 0 {
		text += fmt.Sprintf(", %d of those above their limit", k.Shed)
	}
	return text
}

// distressed tells what went wrong; "" when nothing did.
func distressed(s *edge.WorldStats) string {
	list := []counted64{
		{uint64(s.Keys.Guarded), "keys of which many PoPs are silent"},
		{sum(s.Rejected), "records not believed (" + named(s.Rejected) + ")"},
		{sum(s.Dropped), "packets or records dropped (" + named(s.Dropped) + ")"},
		{s.Deferred, "reports put off for want of budget"},
		{s.Full, "times without room"},
		{s.JoinErrors, "joins failed"},
		{s.Conflicts, "sightings of a name that is taken"},
	}
	return listed(list)
}

// counted64 is how many there are of what.
type counted64 struct {
	n    uint64
	what string
}

// listed joins what there is any of.
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

// named names what there is any of, sorted.
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

func popRows(pops []edge.WorldPoP) [][]cell {
	rows := [][]cell{header("POP", "ALIVE", "DEAD", "LEFT")}
	for _, p := range pops {
		dead := number(strconv.Itoa(p.Dead))
		if p.Dead > 0 {
			dead.style = red
		}
		rows = append(rows, []cell{left(p.PoP), number(strconv.Itoa(p.Alive)), dead, number(strconv.Itoa(p.Left))})
	}
	return rows
}

func (a *app) memberRows(members []edge.WorldMember) [][]cell {
	var self edge.WorldMember
	for _, m := range members {
		if m.Self {
			self = m
		}
	}
	rows := [][]cell{header("MEMBER", "POP", "STATE", "FOR", "ADDRESS", "VERSION", "DIFFERS IN")}
	for _, m := range members {
		name := m.Name
		if m.Self {
			name += " (this)"
		}
		rows = append(rows, []cell{
			left(name), left(m.PoP), memberState(m.State), number(span(a.now().Sub(m.Since).Truncate(time.Second))),
			left(m.Address), left(m.Version),
			{text: differsIn(&self, &m), style: yellow},
		})
	}
	return rows
}

func memberState(state string) cell {
	c := left(state)
	switch state {
	case "alive":
		c.style = green
	case "dead":
		c.style = red
	}
	return c
}

// differsIn names in what a living member differs from this node. What one of the two does not say is no difference.
func differsIn(self, m *edge.WorldMember) string {
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
	return strings.Join(in, ", ")
}
