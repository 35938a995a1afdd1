package admin

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"sync"
)

// Seats bound the open connections of a listener for people, so the important ones keep their
// places when strangers take all others.
//
//	Listener.Accept ─► Take ─┬─► a Place: a net.Conn with a note of questions, until closed
//	                         ├─► the least important connection is closed
//	                         └─► no place: the newcomer is closed
//
// A newcomer does not wait for a place, because an orchestrator restarts a node that does not
// answer its probe. When all places are taken it gets that of the least important other connection:
//
//   - one without the token comes before one that has shown it;
//   - of these, one of the address with the most of them (IPv6: of the /64 network);
//   - then an idle one before one with a request in progress;
//   - then the one that has been idle, or busy, for the longest time.
//
// A connection that showed the token and is being answered keeps its place; if all do, the newcomer
// is closed. The order of events decides, not a clock.

// seats are the open connections of some listeners. Its methods may be called concurrently.
type seats struct {
	most int // connections at once

	mu        sync.Mutex
	taken     map[*seat]struct{}
	strangers map[netip.Prefix]int // places without the token, by address
	turn      uint64               // orders events without a clock
	dropped   uint64               // connections closed because every place was taken
}

// newSeats returns so many places, at least 1, that are all free.
func newSeats(most int) *seats {
	return &seats{most: most, taken: map[*seat]struct{}{}, strangers: map[netip.Prefix]int{}}
}

// Listener returns ln without the connections with no place: those are closed. The others are
// Places.
func (p *seats) Listener(ln net.Listener) net.Listener { return &listener{ln, p} }

// listener is a net.Listener whose connections have a place among places.
type listener struct {
	net.Listener
	places *seats
}

// Accept returns the next connection with a place.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if place, ok := l.places.Take(c); ok {
			return place, nil
		}
		_ = c.Close()
	}
}

// seat is a connection with a place. Close frees it. The lock of its Places guards the fields
// after it.
type seat struct {
	net.Conn
	from      netip.Prefix
	of        *seats
	trusted   bool   // the last request showed the token
	asked     bool   // there was a request
	answering bool   // one is being answered
	since     uint64 // turn at which answering last changed, or the connection came
}

// Take gives c a place, and reports whether there was any for it. It closes the connection that had
// to make room.
func (p *seats) Take(c net.Conn) (*seat, bool) {
	place := &seat{Conn: c, from: networkOf(c.RemoteAddr()), of: p}
	evicted, ok := p.enter(place)
	if evicted != nil {
		_ = evicted.Conn.Close() // the server then releases it
	}
	return place, ok
}

// enter adds place if there is room or room can be made. It returns the evicted place, or nil.
func (p *seats) enter(place *seat) (evicted *seat, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn++
	place.since = p.turn
	if len(p.taken) >= p.most {
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
func (p *seats) leastImportant() (least *seat) {
	for place := range p.taken {
		if least == nil || p.compare(place, least) < 0 {
			least = place
		}
	}
	return least
}

// compare puts the place to be given up earlier before the other. The caller holds the lock.
func (p *seats) compare(a, b *seat) int {
	return cmp.Or(
		-cmp.Compare(p.held(a), p.held(b)), // 0 for those that showed the token: they come last
		cmp.Compare(p.busy(a), p.busy(b)),
		cmp.Compare(a.since, b.since),
	)
}

// held returns how many places without the token there are from a's address; 0 if a has shown it.
func (p *seats) held(a *seat) int {
	if a.trusted {
		return 0
	}
	return p.strangers[a.from]
}

// busy returns 1 if a is being answered, or is so new its first request may be on its way; else 0.
func (p *seats) busy(a *seat) int {
	// the number of connections and requests, of all clients, for which a new connection counts as
	// busy, so its first request can be read while other clients connect.
	if a.answering || !a.asked && p.turn-a.since < 64 {
		return 1
	}
	return 0
}

// leave frees a's place if it still has it. The caller holds the lock.
func (p *seats) leave(a *seat) {
	if _, here := p.taken[a]; here {
		delete(p.taken, a)
		p.count(a, -1)
	}
}

// count adds n to the places without the token from a's address, if a is an address. The caller
// holds the lock.
func (p *seats) count(a *seat, n int) {
	if a.trusted {
		return
	}
	if p.strangers[a.from] += n; p.strangers[a.from] == 0 {
		delete(p.strangers, a.from)
	}
}

// stats are the figures of Places.
type stats struct {
	Open      int    // connections with a place
	Addresses int    // of those without the token; IPv6: /64 networks
	Dropped   uint64 // connections closed because every place was taken, since New
}

// stats returns the figures.
func (p *seats) Stats() stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return stats{Open: len(p.taken), Addresses: len(p.strangers), Dropped: p.dropped}
}

// connKey is the key of a connection in a context.
type connKey struct{}

// seatContext returns ctx with c, as an http.Server's ConnContext.
func seatContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// seatOf returns the place that Context put into ctx; nil: the request came through no Listener.
func seatOf(ctx context.Context) *seat {
	place, _ := ctx.Value(connKey{}).(*seat)
	return place
}

// Begin marks the start of a request, and whether it showed the token. It does nothing if a is nil.
func (a *seat) Begin(trusted bool) {
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

// End marks the connection as waiting for its next request; nothing if a is nil.
func (a *seat) End() {
	if a == nil {
		return
	}
	a.of.mu.Lock()
	defer a.of.mu.Unlock()
	a.turn(false)
}

// turn records whether a request is in progress from now on. The caller holds the lock.
func (a *seat) turn(answering bool) {
	a.of.turn++
	a.answering, a.since = answering, a.of.turn
}

// Close closes the connection and frees its place.
func (a *seat) Close() error {
	a.of.mu.Lock()
	a.of.leave(a)
	a.of.mu.Unlock()
	return a.Conn.Close()
}

// networkOf returns the address by which places are counted: an IPv4 address, or the /64 network of
// an IPv6 address. All clients of a unix socket share an address.
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
