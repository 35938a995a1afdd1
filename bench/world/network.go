package main

import "time"

// packetHeader is what a packet costs on the wire besides what is in it: Ethernet's, IP's and UDP's headers
// as far as control.md counts them.
const packetHeader = 38

// packet is what one node sends to another.
type packet struct {
	unicast []byte   // or
	rumours []rumour // a broadcast's
	from    int      // number of the sender's PoP
}

// size returns the packet's bytes on the wire.
func (p *packet) size() int64 {
	size := packetHeader + len(p.unicast)
	for _, r := range p.rumours {
		size += framing + len(r.record)
	}
	return int64(size)
}

// traffic counts a node's control packets.
type traffic struct {
	sent, heard     int64 // bytes
	packets         int64 // sent
	unicast, gossip int64 // bytes sent
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
	if w.parted(from, to) || w.dice.network.Float64() < w.loss {
		return
	}
	p.from = from.pop.number
	w.queue.put(event{at: w.now + w.delays[from.pop.number][to.pop.number], kind: arrives, node: to, packet: p})
}

// parted reports whether nothing goes from one node to the other.
func (w *world) parted(from, to *node) bool {
	return w.cut && from.pop.side != to.pop.side
}

// arrive hands a packet to its node.
func (w *world) arrive(n *node, p *packet) {
	n.traffic.heard += p.size()
	if p.unicast != nil {
		n.control.Receive(n.clock(w.now), p.unicast)
		return
	}
	for _, r := range p.rumours {
		if n.control.Hear(n.clock(w.now), r.record) {
			n.rumours.put(r)
		}
	}
}

// gossip lets n pass on what it has to tell.
func (w *world) gossip(n *node) {
	members := n.members
	for range min(gossipTo, len(members)-1) {
		if len(n.rumours.all) == 0 {
			return
		}
		to := members[w.dice.network.IntN(len(members))]
		for to == n {
			to = members[w.dice.network.IntN(len(members))]
		}
		w.send(n, to, packet{rumours: n.rumours.take(len(members))})
	}
}

// phase returns a moment within the first every, for something a node does at its own time.
func (w *world) phase(every time.Duration) time.Duration {
	return time.Duration(w.dice.places.Int64N(int64(every)))
}
