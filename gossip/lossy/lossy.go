// Package lossy is a network in memory, for tests of what goes over memberlist: packets get lost, doubled, damaged and
// late, links are cut, nodes paused and killed, all as a plan and a seed say. It is meant for testing/synctest bubbles,
// where a minute of it takes milliseconds; it works outside of one too, in real time.
//
//	memberlist ─► End.WriteTo ─► Net: cut? lost? doubled? damaged? ─► timer ─► End.PacketCh ─► memberlist
//	              End.DialTimeout ─► a pipe, after a round trip and what lost packets cost ─► End.StreamCh
//
// The seed fixes the chances, not the run: memberlist has chances of its own, and goroutines race.
package lossy

import (
	"math/rand/v2"
	"sync"
	"time"
)

// Fault is how bad a link is. The zero value is a perfect one.
type Fault struct {
	Loss      float64 // share of packets that vanish, 0 to 1
	Duplicate float64 // share that arrive twice
	Corrupt   float64 // share that arrive with one bit flipped
	Delay     time.Duration
	Jitter    time.Duration // at most this is added to Delay, evenly: so packets overtake one another
}

// Stats counts packets since New.
type Stats struct {
	Sent       uint64 // by nodes
	Longest    int    // of them, in bytes
	Delivered  uint64 // copies put into a node's channel
	Lost       uint64 // by chance
	Cut        uint64 // into a cut, or to or from nobody
	Overflowed uint64 // the receiver was too slow
	Dials      uint64
	Refused    uint64 // dials that failed
}

// Net is a network. Its methods may be called from any goroutine.
type Net struct {
	mu     sync.Mutex // protects everything; never held while something waits
	rng    *rand.Rand
	fault  Fault
	links  map[link]Fault
	cut    map[link]bool
	ends   map[string]*End
	pipes  map[*conn]link
	counts Stats
}

// link is one direction.
type link struct{ from, to string }

// New returns a network without nodes whose links all behave as f says.
func New(seed uint64, f Fault) *Net {
	return &Net{
		rng:   rand.New(rand.NewPCG(seed, 1)), //nolint:gosec // a test repeats its chances
		fault: f,
		links: make(map[link]Fault), cut: make(map[link]bool),
		ends: make(map[string]*End), pipes: make(map[*conn]link),
	}
}

// SetFault changes how the links behave that SetLink said nothing about.
func (n *Net) SetFault(f Fault) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fault = f
}

// SetLink changes how the link behaves from one address to another, in this direction only.
func (n *Net) SetLink(from, to string, f Fault) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.links[link{from, to}] = f
}

// Cut stops everything from one address to another, in this direction only, and breaks the streams between the two.
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

// Pause stops a node as SIGSTOP does, seen from outside: what is sent to it waits (the first maxWaiting packets), what
// it sends itself is lost. Resume ends it.
func (n *Net) Pause(addr string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if e := n.ends[addr]; e != nil {
		e.paused = true
	}
}

// Resume delivers what waited for a paused node.
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

// Stats returns what was counted.
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

// open tells whether anything gets through a link. The caller holds mu.
func (n *Net) open(l link) bool {
	from, to := n.ends[l.from], n.ends[l.to]
	return from != nil && to != nil && !from.paused && !n.cut[l]
}

func (n *Net) chance(share float64) bool { return share > 0 && n.rng.Float64() < share }

// latency draws how long one packet takes. The caller holds mu.
func (n *Net) latency(f Fault) time.Duration {
	if f.Jitter <= 0 {
		return f.Delay
	}
	return f.Delay + time.Duration(n.rng.Int64N(int64(f.Jitter)))
}

// brokenPipes returns the streams that cross a cut or end at a node that is gone. The caller holds mu.
func (n *Net) brokenPipes() []*conn {
	var list []*conn
	for c, l := range n.pipes {
		if !n.open(l) || !n.open(link{l.to, l.from}) {
			list = append(list, c)
		}
	}
	return list
}

func closeAll(list []*conn) {
	for _, c := range list {
		_ = c.Close()
	}
}
