package gossip

import (
	"slices"
	"time"
)

// alarmAfter is the age from which a difference is logged. During a rollout of a version or of
// rules, nodes differ for a moment.
const alarmAfter = 30 * time.Second

// difference is a property a member should share with this node and does not.
type difference struct{ member, property string }

// alarms holds the differences of members from this node: since when, and which were logged. Used
// by a single goroutine.
type alarms struct {
	since    map[difference]time.Time
	reported map[difference]bool
}

func newAlarms() *alarms {
	return &alarms{since: make(map[difference]time.Time), reported: make(map[difference]bool)}
}

// differences compares m with this node's own metadata. A property left out by either is no
// difference.
func differences(own, m Meta) (ring, rules, wire bool) {
	differs := func(a, b string) bool { return a != "" && b != "" && a != b }
	ring = own.PoP == m.PoP && own.Ring != m.Ring
	return ring, differs(own.Rules, m.Rules), own.Wire != 0 && m.Wire != 0 && own.Wire != m.Wire
}

// mismatches counts the living members differing from this node now.
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

// number is 1 for true, else 0.
func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// check returns the differences older than alarmAfter not returned before.
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
			delete(a.reported, d)
		}
	}
	return a.lasting(now, current)
}

// lasting returns the current differences due, and marks each reported.
func (a *alarms) lasting(now time.Time, current map[difference]bool) (due []difference) {
	for d, is := range current {
		if !is {
			continue
		}
		if _, known := a.since[d]; !known {
			a.since[d] = now
		}
		if !a.reported[d] && now.Sub(a.since[d]) >= alarmAfter {
			a.reported[d] = true
			due = append(due, d)
		}
	}
	return due
}

// alarmNames bounds the names in a log line; the line gives the full count too.
const alarmNames = 5

// alarm logs the due differences, a line for each property.
func (n *Node) alarm(due []difference) {
	members := make(map[string][]string)
	for _, d := range due {
		members[d.property] = append(members[d.property], d.member)
	}
	for property, text := range map[string]string{
		"ring": "gossip: nodes of this PoP have other ring servers: they do not share counts " +
			"with this node",
		"rules": "gossip: members have other rules",
		"wire":  "gossip: members speak another version",
	} {
		if names := members[property]; len(names) > 0 {
			slices.Sort(names)
			n.log.Warn(text, "count", len(names), "members", names[:min(len(names), alarmNames)])
		}
	}
}
