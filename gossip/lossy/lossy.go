// Package lossy is a network in memory, for tests of traffic over memberlist: packets get lost,
// doubled, damaged and late, links are cut, nodes paused and killed, all as a plan and a seed say.
// Meant for testing/synctest bubbles, where a minute takes milliseconds; outside a bubble in real
// time.
//
//	memberlist → End.WriteTo → Net: cut? lost? doubled? damaged? → timer → End.PacketCh
//	    → memberlist
//	              End.DialTimeout → a pipe, after a round trip and a delay per lost packet
//	              → End.StreamCh
//
// The seed fixes the chances, not the run: memberlist has other chances, and goroutines race.
package lossy

import (
	"math/rand/v2"
	"sync"
	"time"
)

// Fault is the quality of a link. The zero value is a perfect link.
type Fault struct {
	// Loss is the share of vanishing packets, 0..1.
	Loss float64
	// Duplicate is the share arriving twice, 0..1.
	Duplicate float64
	// Corrupt is the share arriving with a bit flipped, 0..1.
	Corrupt float64
	// Delay is the least time a packet takes.
	Delay time.Duration
	// Jitter is the largest addition to Delay, uniformly distributed: packets may overtake.
	Jitter time.Duration
}

// Stats are a network's counters since New.
type Stats struct {
	// Sent counts packets sent by nodes.
	Sent uint64
	// Longest is the longest packet sent, bytes.
	Longest int
	// Delivered counts copies put into a node's channel.
	Delivered uint64
	// Lost counts packets lost by chance.
	Lost uint64
	// Cut counts packets into a cut, or from or to an unknown address.
	Cut uint64
	// Overflowed counts packets dropped because the receiver was too slow.
	Overflowed uint64
	// Dials counts attempts to open a stream,
	Dials uint64
	// Refused the failed tries.
	Refused uint64
}

// Net is a network. Methods may be called from any goroutine.
type Net struct {
	mu  sync.Mutex // protects everything; never held while something waits
	rng *rand.Rand
	// fault applies to links outside links.
	fault  Fault
	links  map[link]Fault
	cut    map[link]bool
	ends   map[string]*End
	pipes  map[*conn]link
	counts Stats
}

// link is a direction.
type link struct{ from, to string }

// New returns a network without nodes, all of whose links behave like f. seed fixes the random
// numbers.
func New(seed uint64, f Fault) *Net {
	return &Net{
		rng:   rand.New(rand.NewPCG(seed, 1)), //nolint:gosec // a test repeats its chances
		fault: f,
		links: make(map[link]Fault), cut: make(map[link]bool),
		ends: make(map[string]*End), pipes: make(map[*conn]link),
	}
}

// SetFault changes the fault of all links without a separate fault.
func (n *Net) SetFault(f Fault) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fault = f
}

// SetLink changes the fault of the link from an address to another, in this direction only.
func (n *Net) SetLink(from, to string, f Fault) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.links[link{from, to}] = f
}

// Cut stops all traffic from an address to another, in this direction only, and breaks the streams.
func (n *Net) Cut(from, to string) {
	n.mu.Lock()
	n.cut[link{from, to}] = true
	broken := n.brokenPipes()
	n.mu.Unlock()
	closeAll(broken)
}

// Partition cuts, both ways, between addresses of different groups.
func (n *Net) Partition(groups ...[]string) {
	n.mu.Lock()
	for i, a := range groups {
		for j, b := range groups {
			if i != j {
				n.cutAll(a, b)
			}
		}
	}
	broken := n.brokenPipes()
	n.mu.Unlock()
	closeAll(broken)
}

// cutAll cuts all links from the addresses in from to those in to. The caller holds mu.
func (n *Net) cutAll(from, to []string) {
	for _, a := range from {
		for _, b := range to {
			n.cut[link{a, b}] = true
		}
	}
}

// Heal undoes every Cut and Partition.
func (n *Net) Heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.cut)
}

// Pause stops a node as SIGSTOP does, seen from outside: packets to the node wait, maxWaiting at
// most, packets from the node are lost. Until Resume.
func (n *Net) Pause(addr string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if e := n.ends[addr]; e != nil {
		e.paused = true
	}
}

// Resume delivers a paused node's waiting packets.
func (n *Net) Resume(addr string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	e := n.ends[addr]
	if e == nil {
		return
	}
	e.paused = false
	for _, p := range e.waiting {
		n.hand(e, p)
	}
	e.waiting = nil
}

// Stats returns the counters.
func (n *Net) Stats() Stats {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.counts
}

// between returns the fault of a link. The caller holds mu.
func (n *Net) between(l link) Fault {
	if f, ok := n.links[l]; ok {
		return f
	}
	return n.fault
}

// open reports whether anything passes a link. The caller holds mu.
func (n *Net) open(l link) bool {
	from, to := n.ends[l.from], n.ends[l.to]
	return from != nil && to != nil && !from.paused && !n.cut[l]
}

// chance draws whether an event of the given probability happens. The caller holds mu.
func (n *Net) chance(share float64) bool { return share > 0 && n.rng.Float64() < share }

// latency draws the travel time of a packet. The caller holds mu.
func (n *Net) latency(f Fault) time.Duration {
	if f.Jitter <= 0 {
		return f.Delay
	}
	return f.Delay + time.Duration(n.rng.Int64N(int64(f.Jitter)))
}

// brokenPipes returns the streams across a cut or to a missing node. The caller holds mu.
func (n *Net) brokenPipes() []*conn {
	var list []*conn
	for c, l := range n.pipes {
		if !n.open(l) || !n.open(link{l.to, l.from}) {
			list = append(list, c)
		}
	}
	return list
}

// closeAll closes streams; the caller does not hold mu.
func closeAll(list []*conn) {
	for _, c := range list {
		_ = c.Close()
	}
}
