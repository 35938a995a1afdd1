package admin

import (
	"cmp"
	"net"
	"net/netip"
	"sync"
)

// freshTurns is the number of turns of adminPlaces for which a new connection counts as busy, so
// that its first request can be read while other clients connect.
const freshTurns = 64

// adminPlaces are the connections of an admin listener, at most maxAdminConns. A newcomer does not
// wait for a place, because an orchestrator restarts a node that does not answer its probe. When
// all places are taken it gets that of the least important other connection:
//
//   - one without the token comes before one that has shown it;
//   - of these, one of the address with the most of them;
//   - then an idle one before one with a request in progress;
//   - then the one that has been idle, or busy, for the longest time.
//
// A connection that showed the token and is being answered keeps its place; if all do, the newcomer
// is closed.
type adminPlaces struct {
	mu        sync.Mutex
	taken     map[*adminPlace]struct{}
	strangers map[netip.Prefix]int // places without the token, by address
	turn      uint64               // orders events without a clock
	dropped   uint64               // connections closed because every place was taken
}

// newAdminPlaces returns places that are all free.
func newAdminPlaces() *adminPlaces {
	return &adminPlaces{taken: map[*adminPlace]struct{}{}, strangers: map[netip.Prefix]int{}}
}

// adminPlace is a connection with a place. The lock of its adminPlaces guards the fields after it.
type adminPlace struct {
	net.Conn
	from      netip.Prefix
	of        *adminPlaces
	trusted   bool   // the last request showed the token
	asked     bool   // there was a request
	answering bool   // one is being answered
	since     uint64 // turn at which answering last changed, or the connection came
}

// take gives c a place, and reports whether there was one for it. It closes the connection that had
// to make room.
func (p *adminPlaces) take(c net.Conn) (*adminPlace, bool) {
	place := &adminPlace{Conn: c, from: networkOf(c.RemoteAddr()), of: p}
	evicted, ok := p.enter(place)
	if evicted != nil {
		_ = evicted.Conn.Close() // the server then releases it
	}
	return place, ok
}

// enter adds place if there is room or room can be made. It returns the place that was evicted, or
// nil.
func (p *adminPlaces) enter(place *adminPlace) (evicted *adminPlace, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn++
	place.since = p.turn
	if len(p.taken) >= maxAdminConns {
		p.dropped++
		if evicted = p.leastImportant(); evicted.trusted && evicted.answering {
			return nil, false
		}
		p.leave(evicted)
	}
	p.taken[place] = struct{}{}
	p.strangers[place.from]++
	return evicted, true
}

// leastImportant returns the place to be given up first. There is one; the caller holds the lock.
func (p *adminPlaces) leastImportant() (least *adminPlace) {
	for place := range p.taken {
		if least == nil || p.compare(place, least) < 0 {
			least = place
		}
	}
	return least
}

// compare puts the place to be given up earlier before the other. The caller holds the lock.
func (p *adminPlaces) compare(a, b *adminPlace) int {
	return cmp.Or(
		-cmp.Compare(p.held(a), p.held(b)), // 0 for those that showed the token: they come last
		cmp.Compare(p.busy(a), p.busy(b)),
		cmp.Compare(a.since, b.since),
	)
}

// held returns how many places without the token there are from a's address; 0 if a has shown it.
func (p *adminPlaces) held(a *adminPlace) int {
	if a.trusted {
		return 0
	}
	return p.strangers[a.from]
}

// busy returns 1 if a is being answered, or is so new that its first request may be on its way;
// else 0.
func (p *adminPlaces) busy(a *adminPlace) int {
	if a.answering || !a.asked && p.turn-a.since < freshTurns {
		return 1
	}
	return 0
}

// leave frees a's place if it still has it. The caller holds the lock.
func (p *adminPlaces) leave(a *adminPlace) {
	if _, here := p.taken[a]; here {
		delete(p.taken, a)
		p.count(a, -1)
	}
}

// count adds n to the places without the token from a's address, if a is one. The caller holds the
// lock.
func (p *adminPlaces) count(a *adminPlace, n int) {
	if a.trusted {
		return
	}
	if p.strangers[a.from] += n; p.strangers[a.from] == 0 {
		delete(p.strangers, a.from)
	}
}

// droppedTotal returns how many connections were closed for want of a place since start.
func (p *adminPlaces) droppedTotal() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return float64(p.dropped)
}

// begin marks the start of a request, and whether it showed the token. The place is nil if the
// request came through no listener.
func (a *adminPlace) begin(trusted bool) {
	if a == nil {
		return
	}
	a.of.mu.Lock()
	defer a.of.mu.Unlock()
	a.asked = true
	a.turn(true)
	_, here := a.of.taken[a]
	if here {
		a.of.count(a, -1)
	}
	if a.trusted = trusted; here {
		a.of.count(a, 1)
	}
}

// end marks that the connection waits for its next request.
func (a *adminPlace) end() {
	if a == nil {
		return
	}
	a.of.mu.Lock()
	defer a.of.mu.Unlock()
	a.turn(false)
}

// turn records whether a request is in progress from now on. The caller holds the lock.
func (a *adminPlace) turn(answering bool) {
	a.of.turn++
	a.answering, a.since = answering, a.of.turn
}

// Close closes the connection and frees its place.
func (a *adminPlace) Close() error {
	a.of.mu.Lock()
	a.of.leave(a)
	a.of.mu.Unlock()
	return a.Conn.Close()
}

// networkOf returns the address by which places are counted: an IPv4 address, or the /64 network of
// an IPv6 address. All clients of a unix socket share one.
func networkOf(addr net.Addr) netip.Prefix {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	ip := tcp.AddrPort().Addr().Unmap()
	bits := min(ip.BitLen(), 64)
	network, _ := ip.WithZone("").Prefix(bits) // no address has fewer bits
	return network
}
