package stream

import (
	"crypto/tls"
	"net/netip"
	"time"
)

// place is the place of a Conn among the Most of its Server. The Server's mu protects it.
type place struct {
	from  *tally // of its address; nil: the place is given to another connection, or free
	stand stand
	freed func() // ends the pause of endFault; nil: c is not in it
}

// stand is the state of a connection by which its place is kept or lost.
type stand uint8

const (
	silent stand = iota // nothing was shown yet
	shown               // see Show
	faulty              // in the pause of endFault
)

// firstMoment is how long the first words of a client that means to say some take at most, on a
// busy machine.
const firstMoment = 200 * time.Millisecond

// tally counts the connections of an address, or of a /64 of IPv6. Unix sockets are an address.
type tally struct {
	key        netip.Prefix
	all, quiet int // quiet: without those that have shown something
}

// keyOf returns the address by which connections from peer are counted.
func keyOf(peer netip.Addr) netip.Prefix {
	bits := peer.BitLen()
	if peer.Is6() {
		bits = 64
	}
	key, _ := peer.Prefix(bits) // the zero Prefix for a unix socket
	return key
}

// enter gives c a place. Where Most are taken, c takes the place of a connection giving way, which
// is returned for cut; ok is false where none does. The caller holds mu.
func (s *Server) enter(c *Conn) (out *Conn, ok bool) {
	key := keyOf(c.Peer())
	own := s.tallies[key]
	if own == nil {
		own = &tally{key: key}
	}
	if len(s.conns) >= s.Most {
		if s.Keeps {
			return nil, false
		}
		if out = s.quietest(own); out == nil {
			out = s.idlest(own)
		}
		if out == nil {
			return nil, false
		}
		s.leave(out)
		s.displaced.Add(1)
	}
	if s.conns == nil {
		s.conns, s.tallies = make(map[*Conn]struct{}), make(map[netip.Prefix]*tally)
	}
	s.conns[c], s.tallies[key] = struct{}{}, own
	own.all++
	own.quiet++
	c.from = own
	return out, true
}

// quietest returns the oldest connection that has shown nothing, of the address that has most of
// those; nil: all have. In the pause after a fault a connection gives way to other addresses alone,
// or a client at fault would be back at once. The only quiet connection of an address has a moment
// for its first words before it gives way to another address, or a client that fills all places and
// tries for more would be in the way of each that comes.
func (s *Server) quietest(own *tally) (out *Conn) {
	for c := range s.conns {
		switch {
		case c.stand == shown, c.stand == faulty && c.from == own:
		case c.from != own && c.from.quiet == 1 && time.Since(c.accepted) < firstMoment:
		case out == nil, c.from.quiet > out.from.quiet, c.from.quiet == out.from.quiet &&
			c.ID < out.ID:
			out = c
		}
	}
	return out
}

// idlest returns the connection that waited longest for bytes, of the address that has most
// connections, if those are at least two more than own has; else nil. All have shown something.
func (s *Server) idlest(own *tally) (out *Conn) {
	for c := range s.conns {
		switch {
		case c.stand != shown || c.from.all < own.all+2:
		case out == nil, c.from.all > out.from.all, c.from.all == out.from.all &&
			c.lastRead().Before(out.lastRead()):
			out = c
		}
	}
	return out
}

// leave frees the place of c, unless another connection has it. The caller holds mu.
func (s *Server) leave(c *Conn) {
	t := c.from
	if t == nil {
		return
	}
	c.from = nil
	delete(s.conns, c)
	if t.all--; c.stand != shown {
		t.quiet--
	}
	if t.all == 0 {
		delete(s.tallies, t.key)
	}
	if c.freed != nil {
		c.freed()
	}
}

// Show says that c has shown its client speaks the protocol: it keeps its place before those that
// have not.
func (c *Conn) Show() {
	if c.showed {
		return
	}
	c.showed = true
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if c.stand = shown; c.from != nil {
		c.from.quiet--
	}
}

// Shown reports whether Show was called.
func (c *Conn) Shown() bool { return c.showed }

// pausing notes that c is in the pause of endFault, which freed ends. It reports whether c has its
// place still.
func (c *Conn) pausing(freed func()) bool {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if c.from == nil {
		return false
	}
	if c.stand == shown {
		c.from.quiet++
	}
	c.stand, c.freed = faulty, freed
	return true
}

// Left returns how much of d, which began when c was accepted, is left; at least 0.
func (c *Conn) Left(d time.Duration) time.Duration { return max(0, d-time.Since(c.accepted)) }

// lastRead returns the instant of the last wait for bytes of c.
func (c *Conn) lastRead() time.Time { return c.accepted.Add(time.Duration(c.waits.Load())) }

// cut closes the socket of c. Of TLS no goodbye is written, which could wait for the peer.
func (c *Conn) cut() {
	socket := c.Conn
	if secure, ok := socket.(*tls.Conn); ok {
		socket = secure.NetConn()
	}
	_ = socket.Close()
}
