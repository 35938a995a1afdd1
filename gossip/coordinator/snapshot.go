package coordinator

import (
	"unsafe"

	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// A node's reports of a key, and the merged totals, outlive the process together with the key's
// log.

// Snapshot is the control loop's part of a key in the state file: see control.Snapshot.
type Snapshot = control.Snapshot

// restoredBytes are the bytes of a restored key.
const restoredBytes = int(unsafe.Sizeof(restored{})) + entryBytes + 2*textBytes

// restored is a snapshot whose key's slot was made at since.
type restored struct {
	Snapshot
	since window.Instant
}

// Snapshot returns the state of a key to be saved; zero for an unknown key.
func (c *Coordinator) Snapshot(rule string, key []byte) Snapshot {
	is, _ := c.known(packet.ID{Rule: rule, Key: string(key)})
	return is.Snapshot
}

// known returns the state of a key here, and whether there is one.
func (c *Coordinator) known(id packet.ID) (is restored, ok bool) {
	if k := c.counts.keys[id]; k != nil {
		is = restored{Snapshot{Alone: k.alone, Merged: k.others()}, k.since}
		is.Reported = k.seen.totals()
		return is, true
	}
	l := c.locals[id]
	if l == nil {
		is, ok = c.restored[id]
		return is, ok
	}
	is = restored{Snapshot{Reported: l.seen, Alone: l.alone, Merged: l.merged}, l.since}
	if d := c.reporterKeys[reporterKeyID{id, false}]; d != nil && !l.alone {
		is.Reported = d.totals
	}
	return is, true
}

// Restore takes the saved state of a key whose slot was restored at since with the same log. Must
// precede the first Measure.
func (c *Coordinator) Restore(since window.Instant, rule string, key []byte, k Snapshot) {
	r, ok := c.o.Rule(rule)
	if !ok || !c.memory.take(since, restoredBytes, 1) {
		return
	}
	c.restoredBytes += restoredBytes
	c.restored[packet.ID{Rule: rule, Key: string(key)}] = restored{k, since}
	// the window has left the old periods by then
	c.restoredUntil = max(c.restoredUntil, since.Add(r.Window+r.Window/2))
}

// tickRestored drops restored state once without effect, or where keys in use find no room.
func (c *Coordinator) tickRestored(now window.Instant) {
	if c.restoredBytes > 0 && (now >= c.restoredUntil || c.memory.wanted > 0) {
		c.restored = make(map[packet.ID]restored)
		c.memory.recount(&c.restoredBytes, 0)
	}
}

// recall returns the state of a key new in a role: from before a restart, or from another role,
// before the rule's limit changed.
func (c *Coordinator) recall(id packet.ID) (was restored, ok bool) {
	was, ok = c.known(id)
	delete(c.restored, id)
	return was, ok
}

// resume gives a new local, of a slot made at since, the state from before.
func (c *Coordinator) resume(l *local, since window.Instant, r *terms) {
	was, ok := c.recall(l.id)
	switch {
	case !ok && c.memory.doubts(l.firstMeasured, since, r):
		l.since, l.relearns = since, never
		fallthrough
	case !ok:
		return
	}
	l.since, l.merged = was.since, was.Merged
	l.others.Blind(l.merged.Period)
	if l.alone = was.Alone; l.alone {
		l.seen = was.Reported
		return
	}
	if to := c.assignment.Reporters(c.o.PoP, l.shard).First; to != c.o.Name {
		return // the reporter, another node, still has the totals
	}
	if d := c.reporterKey(l.firstMeasured, reporterKeyID{l.id, false}, 1); d != nil {
		d.totals = was.Reported
	}
}
