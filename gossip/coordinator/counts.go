package coordinator

import (
	"slices"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/gossip/coordinator/peers"
	"github.com/headgate-dev/headgate/gossip/counts"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// Keys of small limits are not held by their owners: each PoP sends admissions to the PoPs seeing
// the key, at once, in 12 bytes (package counts). Owners have the rest: larger limits, rates,
// blocks, and what people ask for.
//
//	Measure ─► note ─step─► queue ─budget─► batches, one to each PoP ─► receiveCounts ─► raise ─► Apply
//	                                                                     │     └─ no slot ─► counts.Table
//	                                                                     └─ news ─► the nodes of the PoP
//
// A node that changed the PoP's totals sends them, as its ring added them up: the ring is the
// blackboard. In the other PoP any node receives them, and passes on news to its neighbours: they
// have the rest from it already.

const (
	// lateAfter is how long a key waits for a turn before the steps of all keys grow.
	lateAfter = time.Second
	// frameBytes is the most of a packet beside names and a batch, maxName the longest name: of the
	// passing node.
	frameBytes, maxName = 64, 255
)

// exchange is a node's part in the exchange of counts.
type exchange struct {
	table    *counts.Table // nil: the node takes no part
	keys     map[packet.ID]*counted
	digests  map[counts.Digest]*counted // the same
	visits   roundRobin[*counted]       // the same
	queue    []*counted                 // keys with something to send, oldest first
	pressure counts.Pressure
	partners peers.Partners // of the assignment
	origins  counts.Origins
	shares   int // of all contests
	// of a batch, which still fits into a packet when passed on
	size    int
	batches map[batchTo]*counts.Batch // being filled
	grown   []counts.Growth           // memory
	news    []byte                    // memory
	// growth of other origins' counts of a key that the gate is to be handed
	remote []window.RemoteDelta
}

func newExchange(o *Options) exchange {
	if o.Counts != nil {
		o.Counts.SetSecret(o.Secret)
	}
	return exchange{
		table: o.Counts, keys: map[packet.ID]*counted{}, digests: map[counts.Digest]*counted{},
		batches: map[batchTo]*counts.Batch{},
		size:    packet.MaxSize - frameBytes - 2*len(o.PoP) - 2*len(o.Name) - maxName,
	}
}

// held reports whether keys of r are held by records: they have no owner.
func (c *Coordinator) held(r *terms) bool { return c.counts.table != nil && r.ByCounts() }

// Rekey derives the digests of keys from secret.
func (c *Coordinator) Rekey(secret []byte) {
	x := &c.counts
	if x.table == nil {
		return
	}
	x.table.SetSecret(secret)
	clear(x.digests)
	for _, k := range x.keys {
		k.digest = x.table.Digest(k.id.Rule, []byte(k.id.Key))
		x.digests[k.digest] = k
	}
}

// assign follows a change of members.
func (x *exchange) assign(s *Assignment, o *Options) {
	if x.table == nil {
		return
	}
	var all []peers.PoP
	for _, pop := range slices.Sorted(s.Names()) {
		nodes := slices.DeleteFunc(slices.Clone(s.Nodes(pop)),
			func(name string) bool { return name == o.Name })
		all = append(all, peers.PoP{Name: pop, Own: pop == o.PoP, Nodes: nodes})
		x.origins.Number(pop, pop)
	}
	x.partners.Assign(all)
}

// period returns the running counting period of r.
func (c *Coordinator) period(now window.Instant, r *mitigation.Rule) uint32 {
	at := now.Add(c.peers.Ahead())
	return uint32(uint64(at) / uint64(window.CountingPeriod(r.Window))) // 32 bits last until 2106
}

// put queues k, unless queued.
func (x *exchange) put(now window.Instant, k *counted) {
	if k.queuedAt == 0 {
		k.queuedAt = now
		x.queue = append(x.queue, k)
	}
}
