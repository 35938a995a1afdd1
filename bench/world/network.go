package main

import "time"

// packetHeader is an allowance for the Ethernet, IP and UDP headers of a packet, bytes.
const packetHeader = 38

// packet is a coordinator's packet from one node to another.
type packet struct {
	unicast []byte
	// from is the number of the sender's PoP.
	from int
}

// size returns the packet's bytes on the wire, headers included.
func (p *packet) size() int64 {
	return int64(packetHeader + len(p.unicast))
}

// traffic counts a node's control packets and bytes.
type traffic struct {
	// sent and received count bytes.
	sent, received int64
	// packets counts sent packets.
	packets int64
	// far is the part of sent that left the PoP.
	far int64
}

// send puts p on its way to a node, which it may not reach.
func (w *world) send(from, to *node, p packet) {
	size := p.size()
	from.traffic.sent += size
	from.traffic.packets++
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
	n.loop.Receive(n.clock(w.now), n.wall(w.now), p.unicast)
}

// phase returns a random time within the first every: nodes do not act in step.
func (w *world) phase(every time.Duration) time.Duration {
	return time.Duration(w.dice.places.Int64N(int64(every)))
}
