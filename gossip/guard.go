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

// The bounds of what is let through to memberlist.
const (
	maxDatagram   = 2048    // bytes: honest ones have up to 1,449, and a filter at 1,400 would drop those
	maxPackets    = 1024    // that wait for memberlist
	maxAccepts    = 64      // streams a second, and at once
	maxStreams    = 32      // open at once that others opened
	maxHostStream = 16      // of them, from one address: one silent host cannot take all
	maxStreamRead = 1 << 20 // bytes of one stream: the state of 4,000 members and ours; memberlist would take 20 MiB
)

// labelMark is the first byte of a packet with a label, as memberlist writes it.
const labelMark = 244

// guard is a memberlist.Transport around another one. It drops what memberlist should not have to look at, bounds what
// it can be made to hold, and counts.
type guard struct {
	inner  memberlist.Transport
	c      *counters
	prefix []byte // that every packet of the cluster begins with; empty without a label
	allow  []netip.Prefix

	packets chan *memberlist.Packet
	streams chan net.Conn
	accepts rate
	ctx     context.Context //nolint:containedctx // the life of the guard: dials and pumps end with it
	cancel  context.CancelFunc
	wg      sync.WaitGroup

	mu   sync.Mutex // protects open
	open map[*stream]struct{}
}

var _ memberlist.NodeAwareTransport = (*guard)(nil)

func newGuard(inner memberlist.Transport, cfg Config, c *counters) *guard {
	g := &guard{
		inner: inner, c: c, allow: cfg.Allow,
		packets: make(chan *memberlist.Packet, maxPackets),
		streams: make(chan net.Conn),
		accepts: rate{perSecond: maxAccepts, burst: maxAccepts, tokens: maxAccepts},
		open:    make(map[*stream]struct{}),
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

// packet passes one on, or counts why not.
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

func (g *guard) admit(p *memberlist.Packet) (Reason, bool) {
	switch {
	case len(p.Buf) > maxDatagram:
		return dropOversize, false
	case !g.allowed(p.From):
		return dropForeign, false
	case len(p.Buf) < len(g.prefix) || string(p.Buf[:len(g.prefix)]) != string(g.prefix):
		return dropLabel, false
	}
	return 0, true
}

// allowed tells whether the address is in one of the networks. One that does not parse is in none.
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

// accept passes a stream on, or closes it.
func (g *guard) accept(conn net.Conn) {
	s, why, ok := g.admitStream(conn)
	if !ok {
		g.c.drop(why)
		_ = conn.Close()
		return
	}
	select {
	case g.streams <- s:
	case <-g.ctx.Done():
		_ = s.Close()
	}
}

func (g *guard) admitStream(conn net.Conn) (*stream, Reason, bool) {
	if !g.allowed(conn.RemoteAddr()) {
		return nil, dropForeign, false
	}
	if !g.accepts.take(time.Now()) {
		return nil, dropAccepts, false
	}
	s := g.track(conn, true)
	if s == nil {
		return nil, dropStreams, false
	}
	g.c.streams.came(0)
	return s, 0, true
}

// track makes a stream of a connection; nil when too many that others opened are open.
func (g *guard) track(conn net.Conn, theirs bool) *stream {
	s := &stream{Conn: conn, g: g, theirs: theirs, host: hostOf(conn.RemoteAddr()), budget: maxStreamRead}
	g.mu.Lock()
	defer g.mu.Unlock()
	if theirs && g.crowded(s.host) {
		return nil
	}
	g.open[s] = struct{}{}
	return s
}

// crowded tells whether there is no room for a stream from host. The caller holds mu.
func (g *guard) crowded(host string) bool {
	all, same := 0, 0
	for s := range g.open {
		all += number(s.theirs)
		same += number(s.theirs && s.host == host)
	}
	return all >= maxStreams || same >= maxHostStream
}

func hostOf(a net.Addr) string {
	host, _, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	return host
}

func (g *guard) untrack(s *stream) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.open, s)
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

// DialTimeout implements memberlist.Transport. memberlist writes the label before it sets a deadline, so one is set
// here: a peer that does not read holds nobody up.
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

// Shutdown implements memberlist.Transport: it closes the transport within and every stream, and waits for the pumps.
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
