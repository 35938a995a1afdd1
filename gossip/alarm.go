package gossip

import (
	"slices"
	"time"
)

// A difference is put down in the log when it has lasted for alarmAfter: while a new version or new rules are rolled
// out, nodes differ for a moment.
const alarmAfter = 30 * time.Second

// difference is what two members should share and do not.
type difference struct{ member, what string }

// alarms remembers since when members differ from this node, and which of that was said. Used by one goroutine.
type alarms struct {
	since map[difference]time.Time
	said  map[difference]bool
}

func newAlarms() *alarms {
	return &alarms{since: make(map[difference]time.Time), said: make(map[difference]bool)}
}

// differences returns in what m differs from this node's own metadata. What one of the two does not say is no
// difference.
func differences(own, m Meta) (ring, rules, wire bool) {
	differs := func(a, b string) bool { return a != "" && b != "" && a != b }
	ring = own.PoP == m.PoP && own.Ring != m.Ring
	return ring, differs(own.Rules, m.Rules), own.Wire != 0 && m.Wire != 0 && own.Wire != m.Wire
}

// mismatches counts the living members that differ from this node now.
func (n *Node) mismatches() (sum Mismatches) {
	own := n.meta()
	for _, m := range n.roster.list() {
		if m.State != Alive || m.Name == n.cfg.Name {
			continue
		}
		ring, rules, wire := differences(own, m.Meta)
		sum.Ring += number(ring)
		sum.Rules += number(rules)
		sum.Wire += number(wire)
	}
	return sum
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// check returns the differences that have lasted long enough and were not returned before.
func (a *alarms) check(now time.Time, own Meta, self string, members []Member) []difference {
	current := make(map[difference]bool)
	for _, m := range members {
		if m.State != Alive || m.Name == self {
			continue
		}
		ring, rules, wire := differences(own, m.Meta)
		current[difference{m.Name, "ring"}] = ring
		current[difference{m.Name, "rules"}] = rules
		current[difference{m.Name, "wire"}] = wire
	}
	for d := range a.since {
		if !current[d] {
			delete(a.since, d)
			delete(a.said, d)
		}
	}
	return a.lasting(now, current)
}

func (a *alarms) lasting(now time.Time, current map[difference]bool) (due []difference) {
	for d, is := range current {
		if !is {
			continue
		}
		if _, known := a.since[d]; !known {
			a.since[d] = now
		}
		if !a.said[d] && now.Sub(a.since[d]) >= alarmAfter {
			a.said[d] = true
			due = append(due, d)
		}
	}
	return due
}

// alarmNames is how many members a line names; it says of how many it speaks.
const alarmNames = 5

// alarm says what is due, a line for each kind.
func (n *Node) alarm(due []difference) {
	members := make(map[string][]string)
	for _, d := range due {
		members[d.what] = append(members[d.what], d.member)
	}
	for what, text := range map[string]string{
		"ring":  "gossip: nodes of this PoP have other ring servers: they do not count together with this one",
		"rules": "gossip: members have other rules",
		"wire":  "gossip: members speak another version",
	} {
		if names := members[what]; len(names) > 0 {
			slices.Sort(names)
			n.log.Warn(text, "count", len(names), "members", names[:min(len(names), alarmNames)])
		}
	}
}
