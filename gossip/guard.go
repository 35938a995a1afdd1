package gossip

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
)

// Bounds of the traffic that reaches memberlist.
const (
	// maxDatagram is the longest datagram, bytes; a full packet of Send has 1,449.
	maxDatagram = 2048
	// maxPackets bounds the packets waiting for memberlist.
	maxPackets = 1024
	// maxAccepts bounds incoming streams, per second and at once.
	maxAccepts = 64
	// maxStreams bounds the open incoming streams,
	maxStreams = 32
	// maxHostStream those from one address: a silent host cannot take all.
	maxHostStream = 16
)

// labelMark is the first byte of a labelled packet, as memberlist writes it.
const labelMark = 244

// guard is a memberlist.Transport around another one. It drops traffic that memberlist should not
// see, bounds its memory, and counts.
//
//	inner ─► address allowed? ─► label? ─► not compressed? ─► memberlist
type guard struct {
	// inner is the transport below.
	inner memberlist.Transport
	c     *counters
	// prefix is the label's encoding, with which every packet of the cluster begins; empty without
	// a label.
	prefix []byte
	allow  []netip.Prefix
	// keys returns the cluster's keys, 16, 24 or 32 bytes each.
	keys func() [][]byte
	// plain is scratch of the goroutine that checks packets.
	plain []byte

	packets chan *memberlist.Packet
	streams chan net.Conn
	accepts rate
	ctx     context.Context //nolint:containedctx // the life of the guard: dials and pumps end with it
	cancel  context.CancelFunc
	wg      sync.WaitGroup

	mu   sync.Mutex // protects what follows
	open map[*stream]struct{}
	// freed is closed, and replaced, when a place for a large message becomes free.
	freed chan struct{}
}

var _ memberlist.NodeAwareTransport = (*guard)(nil)

// newGuard returns a running guard around inner. Shutdown ends it.
func newGuard(inner memberlist.Transport, cfg Config, keys func() [][]byte, c *counters) *guard {
	g := &guard{
		inner: inner, c: c, allow: cfg.Allow, keys: keys,
		packets: make(chan *memberlist.Packet, maxPackets),
		streams: make(chan net.Conn),
		accepts: rate{perSecond: maxAccepts, burst: maxAccepts, tokens: maxAccepts},
		open:    make(map[*stream]struct{}), freed: make(chan struct{}),
	}
	if cfg.Label != "" {
		g.prefix = append([]byte{labelMark, byte(len(cfg.Label))}, cfg.Label...)
	}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	g.wg.Add(2)
	go g.pumpPackets()
	go g.pumpStreams()
	return g
}

// pumpPackets moves packets from the inner transport to memberlist.
func (g *guard) pumpPackets() {
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

// packet passes one packet on, or counts its drop.
func (g *guard) packet(p *memberlist.Packet) {
	g.c.datagrams.came(len(p.Buf))
	if why, ok := g.admit(p); !ok {
		g.c.drop(why)
		return
	}
	select {
	case g.packets <- p:
	default:
		g.c.drop(dropBacklog)
	}
}

// admit returns the reason for dropping p, and true if there is none.
func (g *guard) admit(p *memberlist.Packet) (Reason, bool) {
	switch {
	case len(p.Buf) > maxDatagram:
		return dropOversize, false
	case !g.allowed(p.From):
		return dropForeign, false
	case len(p.Buf) < len(g.prefix) || string(p.Buf[:len(g.prefix)]) != string(g.prefix):
		return dropLabel, false
	}
	return g.vet(p.Buf[len(g.prefix):])
}

// vet checks a packet without its label. A packet that does not decrypt passes: memberlist logs and
// drops it.
func (g *guard) vet(sealed []byte) (Reason, bool) {
	// no member seals like this, and memberlist would panic
	if len(sealed) > 0 && sealed[0] < sealVersion {
		return dropKey, false
	}
	var label []byte
	if len(g.prefix) > 0 {
		label = g.prefix[2:]
	}
	plain, err := unseal(g.plain[:0], g.keys(), sealed, label)
	if err != nil {
		return 0, true
	}
	g.plain = plain
	switch err := vetPacket(plain); {
	case err == nil:
		return 0, true
	case errors.Is(err, errCompressed):
		return dropCompressed, false
	}
	return dropMalformed, false
}

// allowed reports whether an address is in the allowed networks.
func (g *guard) allowed(from net.Addr) bool {
	if len(g.allow) == 0 {
		return true
	}
	at, err := netip.ParseAddrPort(from.String())
	if err != nil {
		return false
	}
	for _, p := range g.allow {
		if p.Contains(at.Addr().Unmap()) {
			return true
		}
	}
	return false
}

// pumpStreams moves incoming streams to memberlist.
func (g *guard) pumpStreams() {
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
func (g *guard) FinalAdvertiseAddr(ip string, port int) (net.IP, int, error) {
	return g.inner.FinalAdvertiseAddr(ip, port)
}

// WriteTo implements memberlist.Transport.
func (g *guard) WriteTo(b []byte, addr string) (time.Time, error) {
	g.c.datagrams.went(len(b))
	return g.inner.WriteTo(b, addr)
}

// WriteToAddress implements memberlist.NodeAwareTransport.
func (g *guard) WriteToAddress(b []byte, a memberlist.Address) (time.Time, error) {
	return g.WriteTo(b, a.Addr)
}

// PacketCh implements memberlist.Transport.
func (g *guard) PacketCh() <-chan *memberlist.Packet { return g.packets }

// StreamCh implements memberlist.Transport.
func (g *guard) StreamCh() <-chan net.Conn { return g.streams }

var errClosed = errors.New("gossip: closed")

// DialTimeout implements memberlist.Transport. memberlist writes the label before it sets a
// deadline, so it is set here: a peer that does not read blocks nobody.
func (g *guard) DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	if g.ctx.Err() != nil {
		return nil, errClosed
	}
	conn, err := g.inner.DialTimeout(addr, timeout)
	if err != nil {
		return nil, err
	}
	s := g.track(conn, false)
	if g.ctx.Err() != nil {
		_ = s.Close()
		return nil, errClosed
	}
	g.c.streams.went(0)
	if err := s.SetDeadline(time.Now().Add(timeout)); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// DialAddressTimeout implements memberlist.NodeAwareTransport.
func (g *guard) DialAddressTimeout(a memberlist.Address, timeout time.Duration) (net.Conn, error) {
	return g.DialTimeout(a.Addr, timeout)
}

// Shutdown implements memberlist.Transport. It closes the inner transport and every stream, and
// waits for the pumps.
func (g *guard) Shutdown() error {
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
