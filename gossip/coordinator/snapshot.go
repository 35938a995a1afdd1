package coordinator

import (
	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// A node's reports of a key, and the merged totals, outlive the process together with the key's
// log.

// Snapshot is the control loop's part of a key in the state file: see control.Snapshot.
type Snapshot = control.Snapshot

// MaxRestored bounds the keys from before a restart waiting for their first sample.
const MaxRestored = 1 << 16

// restored is a snapshot whose key's slot was made at since.
type restored struct {
	Snapshot
	since window.Instant
}

// Snapshot returns the state of a key to be saved; zero for an unknown key.
func (c *Coordinator) Snapshot(rule string, key []byte) Snapshot {
	k := packet.ID{Rule: rule, Key: string(key)}
	l := c.locals[k]
	if l == nil {
		return c.restored[k].Snapshot
	}
	is := Snapshot{Reported: l.own, Alone: l.alone, Merged: l.merged}
	if !l.alone {
		is.Reported = l.report.Totals
		if d := c.reporterKeys[reporterKeyID{k, false}]; d != nil {
			is.Reported = d.totals
		}
	}
	return is
}

// Restore takes the saved state of a key whose slot was restored at since with the same log. Must
// precede the first Measure.
func (c *Coordinator) Restore(since window.Instant, rule string, key []byte, k Snapshot) {
	r, ok := c.o.Rule(rule)
	switch {
	case !ok:
		return
	case len(c.restored) >= MaxRestored:
		c.stats.Full++
		return
	}
	c.restored[packet.ID{Rule: rule, Key: string(key)}] = restored{k, since}
	// the window has left the old periods by then
	c.restoredUntil = max(c.restoredUntil, since.Add(r.Window+r.Window/2))
}

// tickRestored drops restored state once without effect.
func (c *Coordinator) tickRestored(now window.Instant) {
	if len(c.restored) > 0 && now >= c.restoredUntil {
		c.restored = make(map[packet.ID]restored)
	}
}

// recall gives a new local the restored state of the key.
func (c *Coordinator) recall(l *local) {
	was, ok := c.restored[l.id]
	if !ok {
		return
	}
	delete(c.restored, l.id)
	l.since, l.merged = was.since, was.Merged
	l.others.Blind(l.merged.Period)
	if l.alone = was.Alone; l.alone {
		l.own = was.Reported
		return
	}
	if to := c.assignment.Reporters(c.o.PoP, l.shard).First; to != c.o.Name {
		return // the reporter, another node, still has the totals
	}
	if d := c.reporterKey(reporterKeyID{l.id, false}); d != nil {
		d.totals = was.Reported
	}
}
