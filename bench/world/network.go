package main

import "time"

// packetHeader is an allowance for the Ethernet, IP and UDP headers of a packet, bytes.
const packetHeader = 38

// packet is a packet from one node to another: a unicast, or broadcasts.
type packet struct {
	// unicast is a coordinator's packet; nil for gossip.
	unicast []byte
	// broadcasts are the records of a gossip packet.
	broadcasts []broadcast
	// from is the number of the sender's PoP.
	from int
}

// size returns the packet's bytes on the wire, headers included.
func (p *packet) size() int64 {
	size := packetHeader + len(p.unicast)
	for _, r := range p.broadcasts {
		size += framing + len(r.record)
	}
	return int64(size)
}

// traffic counts a node's control packets and bytes.
type traffic struct {
	// sent and received count bytes.
	sent, received int64
	// packets counts sent packets.
	packets int64
	// unicast and gossip are the two parts of sent.
	unicast, gossip int64
	// far is the part of sent that left the PoP.
	far int64
}

// send puts p on its way to a node, which it may not reach.
func (w *world) send(from, to *node, p packet) {
	size := p.size()
	from.traffic.sent += size
	from.traffic.packets++
	if p.unicast != nil {
		from.traffic.unicast += size
	} else {
		from.traffic.gossip += size
	}
	if from.pop != to.pop {
		from.traffic.far += size
	}
	if w.partitioned(from, to) || w.dice.network.Float64() < w.loss {
		return
	}
	p.from = from.pop.number
	w.queue.put(event{
		at: w.now + w.delays[from.pop.number][to.pop.number], kind: arrives,
		node: to, packet: p,
	})
}

// partitioned reports whether the partition separates two nodes.
func (w *world) partitioned(from, to *node) bool {
	return w.cut && from.pop.side != to.pop.side
}

// arrive delivers a packet to its node.
func (w *world) arrive(n *node, p *packet) {
	n.traffic.received += p.size()
	if p.unicast != nil {
		n.loop.Receive(n.clock(w.now), n.wall(w.now), p.unicast)
		return
	}
	for _, r := range p.broadcasts {
		if n.loop.ReceiveHint(n.clock(w.now), n.wall(w.now), r.record) {
			n.broadcasts.put(r)
		}
	}
}

// gossip sends n's queued broadcasts to gossipTo random members.
func (w *world) gossip(n *node) {
	members := n.members
	for range min(gossipTo, len(members)-1) {
		if len(n.broadcasts.all) == 0 {
			return
		}
		to := members[w.dice.network.IntN(len(members))]
		for to == n {
			to = members[w.dice.network.IntN(len(members))]
		}
		w.send(n, to, packet{broadcasts: n.broadcasts.take(len(members))})
	}
}

// phase returns a random time within the first every: nodes do not act in step.
func (w *world) phase(every time.Duration) time.Duration {
	return time.Duration(w.dice.places.Int64N(int64(every)))
}
