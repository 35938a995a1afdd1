package lossy

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/hashicorp/memberlist"
)

// Bounds of a node's queues, like a kernel's.
const (
	maxPackets = 1024 // not read yet
	maxStreams = 64   // not accepted yet
	maxWaiting = 1024 // while paused
)

// synRetry is the delay a lost packet adds to the opening of a stream.
const synRetry = time.Second

// End is a node's place on the network. Implements memberlist.Transport.
type End struct {
	net     *Net
	addr    string
	at      netip.AddrPort
	packets chan *memberlist.Packet
	streams chan net.Conn

	// protected by net.mu
	paused  bool
	waiting []*memberlist.Packet
}

var _ memberlist.Transport = (*End)(nil)

// End opens a place at addr, "ip:port", in place of an existing End. Panics on an invalid addr:
// tests name their own addresses.
func (n *Net) End(addr string) *End {
	e := &End{
		net: n, addr: addr, at: netip.MustParseAddrPort(addr),
		packets: make(chan *memberlist.Packet, maxPackets),
		streams: make(chan net.Conn, maxStreams),
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ends[addr] = e
	return e
}

// Crash removes the node from the network without notice, like kill -9. Another End may take the
// address.
func (e *End) Crash() {
	n := e.net
	n.mu.Lock()
	if n.ends[e.addr] == e {
		delete(n.ends, e.addr)
	}
	broken := n.brokenPipes()
	n.mu.Unlock()
	closeAll(broken)
	for {
		select {
		case c := <-e.streams:
			_ = c.Close()
		default:
			return
		}
	}
}

// Shutdown implements memberlist.Transport. Dials to the address fail from now on.
func (e *End) Shutdown() error {
	e.Crash()
	return nil
}

// FinalAdvertiseAddr implements memberlist.Transport.
func (e *End) FinalAdvertiseAddr(string, int) (net.IP, int, error) {
	return e.at.Addr().AsSlice(), int(e.at.Port()), nil
}

// PacketCh implements memberlist.Transport.
func (e *End) PacketCh() <-chan *memberlist.Packet { return e.packets }

// StreamCh implements memberlist.Transport.
func (e *End) StreamCh() <-chan net.Conn { return e.streams }

// WriteTo implements memberlist.Transport. As with UDP, the sender does not learn the packet's
// fate.
func (e *End) WriteTo(b []byte, addr string) (time.Time, error) {
	n := e.net
	n.mu.Lock()
	defer n.mu.Unlock()
	n.counts.Sent++
	n.counts.Longest = max(n.counts.Longest, len(b))
	n.send(e, link{e.addr, addr}, b)
	return time.Now(), nil
}

// send loses, duplicates, damages or delays a packet. The caller holds mu.
func (n *Net) send(e *End, l link, b []byte) {
	if n.ends[e.addr] != e || !n.open(l) {
		n.counts.Cut++
		return
	}
	f := n.between(l)
	if n.chance(f.Loss) {
		n.counts.Lost++
		return
	}
	copies := 1
	if n.chance(f.Duplicate) {
		copies = 2
	}
	for range copies {
		p := &memberlist.Packet{Buf: append([]byte(nil), b...), From: net.UDPAddrFromAddrPort(e.at)}
		if n.chance(f.Corrupt) && len(b) > 0 {
			p.Buf[n.rng.IntN(len(b))] ^= 1 << n.rng.IntN(8)
		}
		time.AfterFunc(n.latency(f), func() { n.arrive(l, p) })
	}
}

// arrive delivers a packet, unless the link was cut or the receiver crashed meanwhile.
func (n *Net) arrive(l link, p *memberlist.Packet) {
	n.mu.Lock()
	defer n.mu.Unlock()
	e := n.ends[l.to]
	switch {
	case e == nil || n.cut[l]:
		n.counts.Cut++
	case e.paused && len(e.waiting) < maxWaiting:
		e.waiting = append(e.waiting, p)
	case e.paused:
		n.counts.Overflowed++
	default:
		n.hand(e, p)
	}
}

// hand puts a packet into the node's channel. The caller holds mu.
func (n *Net) hand(e *End, p *memberlist.Packet) {
	p.Timestamp = time.Now()
	select {
	case e.packets <- p:
		n.counts.Delivered++
	default:
		n.counts.Overflowed++
	}
}

var errRefused = errors.New("connection refused")

// DialTimeout implements memberlist.Transport. To a paused node or into a cut the whole timeout
// passes, to an unknown address a round trip.
func (e *End) DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	wait, err := e.handshake(addr, timeout)
	<-time.After(wait)
	if err == nil {
		var c net.Conn
		if c, err = e.connect(addr); err == nil {
			return c, nil
		}
	}
	e.net.mu.Lock()
	e.net.counts.Refused++
	e.net.mu.Unlock()
	return nil, fmt.Errorf("dial %s: %w", addr, err)
}

// handshake draws the time to open a stream, and whether the stream fails.
func (e *End) handshake(addr string, timeout time.Duration) (time.Duration, error) {
	n := e.net
	n.mu.Lock()
	defer n.mu.Unlock()
	n.counts.Dials++
	out, back := link{e.addr, addr}, link{addr, e.addr}
	if n.cut[out] || n.cut[back] || n.ends[e.addr] != e ||
		n.ends[addr] != nil && n.ends[addr].paused {
		return timeout, os.ErrDeadlineExceeded
	}
	wait := n.latency(n.between(out)) + n.latency(n.between(back))
	for wait <= timeout && (n.chance(n.between(out).Loss) || n.chance(n.between(back).Loss)) {
		wait += synRetry
	}
	switch {
	case wait > timeout:
		return timeout, os.ErrDeadlineExceeded
	case n.ends[addr] == nil:
		return wait, errRefused
	}
	return wait, nil
}

// connect hands an end of a pipe to the other node and returns the other end.
func (e *End) connect(addr string) (net.Conn, error) {
	n := e.net
	n.mu.Lock()
	defer n.mu.Unlock()
	out := link{e.addr, addr}
	peer := n.ends[addr]
	if peer == nil || n.ends[e.addr] != e || !n.open(out) {
		return nil, errRefused
	}
	a, b := net.Pipe()
	ours, theirs := n.wrap(a, e, peer), n.wrap(b, peer, e)
	select {
	case peer.streams <- theirs:
		n.pipes[ours], n.pipes[theirs] = out, link{addr, e.addr}
		return ours, nil
	default:
		return nil, errRefused
	}
}

// conn is an end of a pipe with addresses.
type conn struct {
	net.Conn
	net           *Net
	local, remote net.Addr
}

// wrap gives an end of a pipe addresses.
func (n *Net) wrap(c net.Conn, from, to *End) *conn {
	return &conn{c, n, net.TCPAddrFromAddrPort(from.at), net.TCPAddrFromAddrPort(to.at)}
}

// LocalAddr implements net.Conn.
func (c *conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr implements net.Conn.
func (c *conn) RemoteAddr() net.Addr { return c.remote }

// Close implements net.Conn.
func (c *conn) Close() error {
	c.net.mu.Lock()
	delete(c.net.pipes, c)
	c.net.mu.Unlock()
	return c.Conn.Close()
}
