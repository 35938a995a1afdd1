package gate

import (
	"github.com/headgate-dev/headgate/edge/gate/health"
	"github.com/headgate-dev/headgate/edge/gate/usedup"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// This file is the exchange of counts with the other nodes of the PoP. The flusher drives the
// exchange; Collect to Report belong to the flusher's goroutine. Each window.Due of Collect goes to
// exactly one of Merge, MergeAlone and Unsent.
//
//	Collect ─► []window.Due ─► (ring) ─► totals ─► Plausible ─► Merge ─► slot; pace ─► ratio
//	                             │                                └─► global sample ─► Report
//	                             └─ no answer ─► Unsent

// FlushRoom is the maximum number of exchanges in a flush. Further keys wait for the next flush,
// those with the least unsent cost first.
const FlushRoom = 20_000

// Ring returns the health of the ring, or nil of a gate without a ring.
func (g *Gate) Ring() *health.Ring { return g.ring }

// Collect appends to dues the keys whose counts are to be exchanged in flush f, and returns dues.
// Key bytes are stored in keys. Both results are valid until the next Collect.
func (g *Gate) Collect(f window.Flush, dues []window.Due, keys []byte) ([]window.Due, []byte) {
	dues, keys = g.counter.Collect(f, dues, keys)
	return g.counter.CollectHints(f, dues), keys
}

// Hurry returns a channel yielding when some key cannot wait for the next flush. CollectHurried is
// then to be called soon.
func (g *Gate) Hurry() <-chan struct{} { return g.counter.Urgent() }

// CollectHurried is Collect for keys unable to wait for the next flush. next is the instant at
// which to call it again; 0 means not before Hurry yields.
func (g *Gate) CollectHurried(
	f window.Flush, dues []window.Due, keys []byte,
) (all []window.Due, memory []byte, next window.Instant) {
	return g.counter.CollectUrgent(f, dues, keys)
}

// UsedUp returns the keys other nodes of the PoP know to be at their limits, for the flusher to
// fill, or nil without a ring.
func (g *Gate) UsedUp() *usedup.Table { return g.usedUp }

// CollectFilled calls f for each key of a rule with notices that has come to its limit since the
// last call.
func (g *Gate) CollectFilled(now window.Instant, f func(r *mitigation.Rule, k window.Filled)) {
	rules := g.rules.Load().byName
	g.counter.CollectFilled(now, func(k window.Filled) {
		if r := rules[k.Rule]; r != nil && usedup.Takes(&r.Rule) {
			f(&r.Rule, k)
		}
	})
}

// CollectReopened calls f for each key with a notice of which cost was taken back here since the
// last call, with the least version of the notice that says so.
func (g *Gate) CollectReopened(f func(n usedup.Name, version uint64)) {
	for {
		select {
		case n := <-g.reopened:
			f(n.Name, n.version)
		default:
			return
		}
	}
}

// reopened is a key that has room again, and the version of the next notice of it.
type reopened struct {
	usedup.Name
	version uint64
}

// forgetUsedUp forgets the other nodes' notice that key is at its limit. With tell they are told.
// Given up: more than fit into the channel between two exchanges. Their notices stay to the end.
func (g *Gate) forgetUsedUp(r *rule, key []byte, now window.Instant, tell bool) {
	if r == nil || g.usedUp == nil || !usedup.Takes(&r.Rule) {
		return
	}
	n := g.usedUp.Name(&r.Rule, key)
	if tell && g.usedUp.Until(now, n) != 0 {
		select {
		case g.reopened <- reopened{n, g.usedUp.Version(n) + 1}:
		default:
		}
	}
	g.usedUp.Forget(n)
}

// Plausible reports whether total can be a true answer to d. False when the others would have had
// to count more, since this node's last look, than so many nodes can. A server without counters
// passes the test.
func (g *Gate) Plausible(f window.Flush, d *window.Due, total uint64) bool {
	return g.counter.Plausible(f, d, total)
}

// Merge adds total, the answer of a server to d, to the key's slot, and sets the key's drop ratio.
// server is the index of the server in the ring.
func (g *Gate) Merge(f window.Flush, d *window.Due, total uint64, server int) {
	if standing, ok := g.counter.Merge(f, d, total, server); ok {
		g.pace(f.Now, d, standing)
	}
	if d.TookBack() {
		g.forgetUsedUp(g.rules.Load().byName[d.Rule], d.Key, f.Now, false)
	}
}

// Unsent records the exchange of d failed at the server with index server. The cost stays due. With
// sent the server may have counted the cost nevertheless: the cost is then dropped and counted as
// such, because cost sent twice would count against the key twice.
func (g *Gate) Unsent(d *window.Due, now window.Instant, server int, sent bool) {
	g.counter.Unsent(d, now, server, sent)
}

// MergeAlone settles d without a ring: no other node of the PoP learns of the cost, and a global
// rule reports the cost as this node's alone.
func (g *Gate) MergeAlone(f window.Flush, d *window.Due) {
	standing, ok := g.counter.Alone(f, d)
	if r := g.rules.Load().byName[d.Rule].of(f.Now, d.Key); ok && r != nil && r.global {
		g.global.sample(f.Now, r, d, standing, true)
	}
}

// pace sets a drop ratio for the key of d while above the limit by the counts of all nodes, and
// clears the ratio as soon as below. Under a global rule the advice of the coordinator decides
// instead, while other PoPs are connected.
func (g *Gate) pace(now window.Instant, d *window.Due, s window.Standing) {
	r := g.rules.Load().byName[d.Rule].of(now, d.Key)
	if r != nil && r.global {
		g.global.sample(now, r, d, s, false)
		if g.global.connected.Load() {
			return // the ratio comes by Apply
		}
	}
	if r == nil || r.Action != mitigation.Shed {
		return
	}
	pace := control.PaceFor(&r.Rule, g.flush)
	ratio := pace.Ratio(s.Offered, s.Rate)
	if is := g.flags.Get(now, d.Index()); ratio == 0 && (!is.Live() || is.Ratio == 0) {
		return
	}
	g.flags.Put(now, mitigation.Flag{
		Index: d.Index(), Rule: r.Name, Key: d.Key, Action: mitigation.Shed, Ratio: ratio,
		Source: mitigation.Ring,
		Since:  now, Until: now.Add(pace.Stands),
	})
}
