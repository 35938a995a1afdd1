// Package guard is a memberlist.Transport around another, dropping traffic not fit for memberlist.
// memberlist unpacks a member's message before any callback can refuse the message: 2 KiB of a
// compressed message become 40 MiB, five bytes of a count 117 MiB. The guard decrypts and checks
// each message first, bounds memory, and counts.
//
//	packet → size → address allowed? → label? → decrypts? not compressed? → bounded queue
//	    → memberlist
//	stream ─► address allowed? ─► rate, number, number by host ─► one message, read whole:
//	          label? encrypted? size? form of a state exchange? ─► memberlist
//
//	MaxDatagram   2 KiB       MaxPackets  1,024 waiting       MaxStreams     32 open, incoming
//	MaxMessage    1 MiB       MaxAccepts  64 in a second      MaxHostStreams 16 of one address
//	LargeMessage  64 KiB      MaxLarge    2 at once, in each direction, and 1 of one address
//
// A node flooded by members with the largest messages grows by less than 32 MiB, which a test of
// package gossip asserts.
//
// Given up: streams staying open. A stream carries a message in each direction, as in memberlist.
package guard

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
)

// Bounds of the traffic reaching memberlist.
const (
	// MaxDatagram is the longest datagram, bytes; a full packet of Send has 1,449.
	MaxDatagram = 2048
	// MaxPackets bounds the packets waiting for memberlist.
	MaxPackets = 1024
	// MaxAccepts bounds incoming streams, per second and at once.
	MaxAccepts = 64
	// MaxStreams bounds the open incoming streams,
	MaxStreams = 32
	// MaxHostStreams the streams from an address: a silent host cannot take all.
	MaxHostStreams = 16
	// StreamTimeout bounds a dial, each exchange over a stream, and the wait for a place.
	StreamTimeout = 5 * time.Second
)

// LabelMark is the first byte of a labelled packet, as in memberlist.
const LabelMark = 244

// Options are the cluster's properties for the check of traffic.
type Options struct {
	// Label names the cluster; traffic under another label is dropped. "" is none.
	Label string
	// Allow, unless empty, are the networks of allowed traffic.
	Allow []netip.Prefix
	// Keys returns the cluster's keys, 16, 24 or 32 bytes each. Called for every message.
	Keys func() [][]byte
	// MaxMembers bounds the members in a state exchange.
	MaxMembers int
	// MaxState bounds the caller's part of a state exchange, bytes.
	MaxState int
}

// Guard is a memberlist.Transport. Made by New.
type Guard struct {
	// inner is the transport below.
	inner memberlist.Transport
	o     Options
	c     *Traffic
	// prefix is the label's encoding, with which every packet of the cluster begins; empty without
	// a label.
	prefix []byte
	// plain is scratch of the checking goroutine.
	plain []byte

	packets chan *memberlist.Packet
	streams chan net.Conn
	accepts Bucket
	//nolint:containedctx // the life of the guard: dials and pumps end with it
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu   sync.Mutex // protects the fields below
	open map[*stream]struct{}
	// freed is closed, and replaced, when a place for a large message becomes free.
	freed chan struct{}
}

var _ memberlist.NodeAwareTransport = (*Guard)(nil)

// New returns a running guard around inner, which counts in c. Shutdown ends both.
func New(inner memberlist.Transport, o Options, c *Traffic) *Guard {
	g := &Guard{
		inner: inner, o: o, c: c,
		packets: make(chan *memberlist.Packet, MaxPackets),
		streams: make(chan net.Conn),
		accepts: NewBucket(MaxAccepts, MaxAccepts),
		open:    make(map[*stream]struct{}), freed: make(chan struct{}),
	}
	if o.Label != "" {
		g.prefix = append([]byte{LabelMark, byte(len(o.Label))}, o.Label...)
	}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	g.wg.Add(2)
	go g.pumpPackets()
	go g.pumpStreams()
	return g
}

// pumpPackets moves packets from the inner transport to memberlist.
func (g *Guard) pumpPackets() {
	defer g.wg.Done()
	for {
		select {
		case p := <-g.inner.PacketCh():
			g.packet(p)
		case <-g.ctx.Done():
			return
		}
	}
}

// packet passes a packet on, or counts a drop.
func (g *Guard) packet(p *memberlist.Packet) {
	g.c.Datagrams.Came(len(p.Buf))
	if why, ok := g.admit(p); !ok {
		g.c.Dropped.Add(why)
		return
	}
	select {
	case g.packets <- p:
	default:
		g.c.Dropped.Add(Backlog)
	}
}

// admit returns the reason for dropping p, and true if there is none.
func (g *Guard) admit(p *memberlist.Packet) (Reason, bool) {
	switch {
	case len(p.Buf) > MaxDatagram:
		return Oversize, false
	case !g.allowed(p.From):
		return Foreign, false
	case len(p.Buf) < len(g.prefix) || string(p.Buf[:len(g.prefix)]) != string(g.prefix):
		return Label, false
	}
	return g.vet(p.Buf[len(g.prefix):])
}

// vet checks a packet without the label. A packet without decryption passes: memberlist logs and
// drops such packets.
func (g *Guard) vet(sealed []byte) (Reason, bool) {
	// no member seals like this, and memberlist would panic
	if len(sealed) > 0 && sealed[0] < sealVersion {
		return Key, false
	}
	var label []byte
	if len(g.prefix) > 0 {
		label = g.prefix[2:]
	}
	plain, err := unseal(g.plain[:0], g.o.Keys(), sealed, label)
	if err != nil {
		return 0, true
	}
	g.plain = plain
	switch err := vetPacket(plain); {
	case err == nil:
		return 0, true
	case errors.Is(err, errCompressed):
		return Compressed, false
	}
	return Malformed, false
}

// allowed reports whether an address is in the allowed networks.
func (g *Guard) allowed(from net.Addr) bool {
	if len(g.o.Allow) == 0 {
		return true
	}
	at, err := netip.ParseAddrPort(from.String())
	if err != nil {
		return false
	}
	for _, p := range g.o.Allow {
		if p.Contains(at.Addr().Unmap()) {
			return true
		}
	}
	return false
}

// pumpStreams moves incoming streams to memberlist.
func (g *Guard) pumpStreams() {
	defer g.wg.Done()
	for {
		select {
		case conn := <-g.inner.StreamCh():
			g.accept(conn)
		case <-g.ctx.Done():
			return
		}
	}
}

// FinalAdvertiseAddr implements memberlist.Transport.
func (g *Guard) FinalAdvertiseAddr(ip string, port int) (net.IP, int, error) {
	return g.inner.FinalAdvertiseAddr(ip, port)
}

// WriteTo implements memberlist.Transport.
func (g *Guard) WriteTo(b []byte, addr string) (time.Time, error) {
	g.c.Datagrams.Went(len(b))
	return g.inner.WriteTo(b, addr)
}

// WriteToAddress implements memberlist.NodeAwareTransport.
func (g *Guard) WriteToAddress(b []byte, a memberlist.Address) (time.Time, error) {
	return g.WriteTo(b, a.Addr)
}

// PacketCh implements memberlist.Transport.
func (g *Guard) PacketCh() <-chan *memberlist.Packet { return g.packets }

// StreamCh implements memberlist.Transport.
func (g *Guard) StreamCh() <-chan net.Conn { return g.streams }

// ErrClosed is the error of a dial after Shutdown.
var ErrClosed = errors.New("gossip: closed")

// DialTimeout implements memberlist.Transport. memberlist writes the label before a deadline, so
// the deadline is set here: a peer without reads delays no one.
func (g *Guard) DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	if g.ctx.Err() != nil {
		return nil, ErrClosed
	}
	conn, err := g.inner.DialTimeout(addr, timeout)
	if err != nil {
		return nil, err
	}
	s := g.track(conn, false)
	if g.ctx.Err() != nil {
		_ = s.Close()
		return nil, ErrClosed
	}
	g.c.Streams.Went(0)
	if err := s.SetDeadline(time.Now().Add(timeout)); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// DialAddressTimeout implements memberlist.NodeAwareTransport.
func (g *Guard) DialAddressTimeout(a memberlist.Address, timeout time.Duration) (net.Conn, error) {
	return g.DialTimeout(a.Addr, timeout)
}

// Shutdown implements memberlist.Transport. Close closes the inner transport and every stream, and
// waits for the pumps.
func (g *Guard) Shutdown() error {
	g.cancel()
	err := g.inner.Shutdown()
	g.wg.Wait()
	g.mu.Lock()
	open := make([]*stream, 0, len(g.open))
	for s := range g.open {
		open = append(open, s)
	}
	g.mu.Unlock()
	for _, s := range open {
		_ = s.Close()
	}
	return err
}
