package gossip

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/headgate-dev/headgate/gossip/guard"
)

// socket is a memberlist.Transport over a UDP and a TCP port of the same number. Unlike
// memberlist's own, reads use a single buffer with copies of the right size, and dials are from the
// bound address, so firewall rules by address hold for streams too.
type socket struct {
	tcp       *net.TCPListener
	udp       *net.UDPConn
	at        netip.AddrPort
	advertise netip.AddrPort
	c         *guard.Traffic

	packets chan *memberlist.Packet
	streams chan net.Conn
	//nolint:containedctx // the life of the socket: dials and loops end with it
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// errorPause is the pause of a loop after an error of the socket.
const errorPause = 20 * time.Millisecond

// bind opens the sockets. Nothing is read before start.
func bind(at netip.AddrPort, c *guard.Traffic) (*socket, error) {
	var err error
	// the number of attempts to find a port free for UDP and TCP.
	for range 10 {
		var s *socket
		if s, err = bindOnce(at); err == nil {
			s.c = c
			return s, nil
		}
		if at.Port() != 0 {
			break
		}
	}
	return nil, err
}

// bindOnce opens both sockets at at, or at a free port for port 0.
func bindOnce(at netip.AddrPort) (*socket, error) {
	tcp, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	port := uint16(tcp.Addr().(*net.TCPAddr).Port)
	at = netip.AddrPortFrom(at.Addr(), port)
	udp, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
	if err != nil {
		_ = tcp.Close()
		return nil, fmt.Errorf("listen: %w", err)
	}
	// the requested receive buffer of the kernel, bytes. The system may grant less.
	_ = udp.SetReadBuffer(2 << 20)
	s := &socket{
		tcp: tcp, udp: udp, at: at,
		packets: make(chan *memberlist.Packet), streams: make(chan net.Conn),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// start starts the two reading loops.
func (s *socket) start() {
	s.wg.Add(2)
	go s.readPackets()
	go s.acceptStreams()
}

// readPackets hands out datagrams until the socket is closed.
func (s *socket) readPackets() {
	defer s.wg.Done()
	buf := make([]byte, guard.MaxDatagram+1)
	for s.ctx.Err() == nil {
		n, from, err := s.udp.ReadFromUDPAddrPort(buf)
		if err != nil {
			s.pause(err)
			continue
		}
		if n == 0 || n > guard.MaxDatagram {
			s.c.Datagrams.Came(n)
			s.c.Dropped.Add(guard.Oversize)
			continue
		}
		p := &memberlist.Packet{
			Buf:  append([]byte(nil), buf[:n]...),
			From: net.UDPAddrFromAddrPort(from), Timestamp: time.Now(),
		}
		select {
		case s.packets <- p:
		case <-s.ctx.Done():
		}
	}
}

// acceptStreams hands out connections until the socket is closed.
func (s *socket) acceptStreams() {
	defer s.wg.Done()
	for s.ctx.Err() == nil {
		conn, err := s.tcp.AcceptTCP()
		if err != nil {
			s.pause(err)
			continue
		}
		select {
		case s.streams <- conn:
		case <-s.ctx.Done():
			_ = conn.Close()
		}
	}
}

// pause waits a little, so a lasting error such as too many open files does not take a whole core.
func (s *socket) pause(err error) {
	if errors.Is(err, net.ErrClosed) {
		return
	}
	select {
	case <-time.After(errorPause):
	case <-s.ctx.Done():
	}
}

// FinalAdvertiseAddr implements memberlist.Transport.
func (s *socket) FinalAdvertiseAddr(string, int) (net.IP, int, error) {
	a := s.advertise
	return a.Addr().AsSlice(), int(a.Port()), nil
}

// WriteTo implements memberlist.Transport.
func (s *socket) WriteTo(b []byte, addr string) (time.Time, error) {
	to, err := netip.ParseAddrPort(addr)
	if err != nil {
		return time.Time{}, err
	}
	_, err = s.udp.WriteToUDPAddrPort(b, to)
	return time.Now(), err
}

// PacketCh implements memberlist.Transport.
func (s *socket) PacketCh() <-chan *memberlist.Packet { return s.packets }

// StreamCh implements memberlist.Transport.
func (s *socket) StreamCh() <-chan net.Conn { return s.streams }

// DialTimeout implements memberlist.Transport.
func (s *socket) DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	d := net.Dialer{Timeout: timeout}
	if !s.at.Addr().IsUnspecified() {
		d.LocalAddr = &net.TCPAddr{IP: s.at.Addr().AsSlice()}
	}
	return d.DialContext(s.ctx, "tcp", addr)
}

// Shutdown implements memberlist.Transport.
func (s *socket) Shutdown() error {
	s.cancel()
	err := errors.Join(s.tcp.Close(), s.udp.Close())
	s.wg.Wait()
	return err
}

// advertised returns the address under which others reach a socket bound to at.
func advertised(advertise string, at netip.AddrPort) (netip.AddrPort, error) {
	if advertise != "" {
		a, err := netip.ParseAddrPort(advertise)
		if err != nil || a.Addr().IsUnspecified() {
			return a, fmt.Errorf("advertise %q: want ip:port", advertise)
		}
		if a.Port() == 0 {
			a = netip.AddrPortFrom(a.Addr(), at.Port())
		}
		return a, nil
	}
	if !at.Addr().IsUnspecified() {
		return at, nil
	}
	ip, err := privateAddress()
	return netip.AddrPortFrom(ip, at.Port()), err
}

var errNoPrivate = errors.New("advertise: needed, for bind names no address and this machine has " +
	"no private one")

// privateAddress returns the machine's first private address.
func privateAddress() (netip.Addr, error) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return netip.Addr{}, fmt.Errorf("advertise: %w", err)
	}
	for _, a := range addrs {
		p, err := netip.ParsePrefix(a.String())
		if err == nil && p.Addr().Unmap().IsPrivate() {
			return p.Addr().Unmap(), nil
		}
	}
	return netip.Addr{}, errNoPrivate
}
