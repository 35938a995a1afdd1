package edge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/window"
)

const (
	// drainTime is how long a door that stops goes on answering what has arrived.
	drainTime = 50 * time.Millisecond
	// receiveBuffer is what the kernel is asked for, in bytes: about a millisecond's worth at full speed is
	// enough, the rest is for bursts. It may grant less (net.core.rmem_max on Linux).
	receiveBuffer = 4 << 20
	// replyBytes holds the longest answer to the longest datagram: MaxLines lines of an id and all fields.
	replyBytes = wire.MaxLines * 160
)

// datagramConn is what a reader needs of a socket.
type datagramConn interface {
	net.PacketConn
	SetReadBuffer(bytes int) error
	SyscallConn() (syscall.RawConn, error)
}

// UDP is the datagram door: UDP and unix datagram sockets, read by a fixed number of loops that each
// read a batch (off Linux: one datagram), decide it at one reading of the clock, and write the answers.
// There is never a goroutine a query and nothing is queued: what the kernel's buffer cannot hold, the
// kernel drops.
type UDP struct {
	edge    *Edge
	sockets []*net.UDPConn
	locals  []*net.UnixConn
	paths   []string
	public  bool // off loopback: a reply is never longer than its request
	stats   [Lanes]udpStats
}

// UDPStats is what the datagram door has seen since start.
type UDPStats struct {
	Packets     uint64 // datagrams read
	Lines       uint64 // request lines in them
	Malformed   uint64 // lines answered bad-request
	UnknownRule uint64
	TooLong     uint64 // datagrams or lines over a bound
	Unanswered  uint64 // replies not sent: longer than the request off loopback, or no return address
	SendFailed  uint64 // replies the kernel did not take
}

// udpStats is one reader's part, on its own cache lines.
type udpStats struct {
	packets, lines, malformed, unknown, tooLong, unanswered, sendFailed atomic.Uint64

	latency latency
	turns   atomic.Uint64 // odd while a batch is being answered: see Life
	_       [8]byte
}

// Stats sums up the readers.
func (u *UDP) Stats() (sum UDPStats) {
	for n := range u.stats {
		s := &u.stats[n]
		sum.Packets += s.packets.Load()
		sum.Lines += s.lines.Load()
		sum.Malformed += s.malformed.Load()
		sum.UnknownRule += s.unknown.Load()
		sum.TooLong += s.tooLong.Load()
		sum.Unanswered += s.unanswered.Load()
		sum.SendFailed += s.sendFailed.Load()
	}
	return sum
}

// ListenUDP opens the datagram door of e at address, with readers loops: for UDP each has its own socket
// on the same port (SO_REUSEPORT), a unix socket has one, as has every door off Linux. The socket file
// is 0660.
func ListenUDP(ctx context.Context, e *Edge, address config.Address, readers int) (*UDP, error) {
	u := &UDP{edge: e, public: !address.Loopback()}
	network, at := address.Packet()
	if address.IsUnix() {
		return u, u.listenUnix(ctx, at)
	}
	for range max(1, min(readers, maxReaders)) {
		c, err := reusable().ListenPacket(ctx, network, at)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("edge: listen on udp %s: %w", at, err), u.Close())
		}
		u.sockets = append(u.sockets, c.(*net.UDPConn)) // of network udp
		at = c.LocalAddr().String()                     // port 0 is drawn once
	}
	return u, nil
}

func (u *UDP) listenUnix(ctx context.Context, path string) error {
	if err := removeStale(ctx, "unixgram", path); err != nil {
		return fmt.Errorf("edge: listen on unix datagram socket: %w", err)
	}
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("edge: listen on unix datagram socket: %w", err)
	}
	u.locals, u.paths = append(u.locals, c), append(u.paths, path)
	if err := os.Chmod(path, unixSocketMode); err != nil {
		return errors.Join(fmt.Errorf("edge: listen on unix datagram socket: %w", err), u.Close())
	}
	return nil
}

// Addr returns the address the door listens on.
func (u *UDP) Addr() net.Addr {
	if len(u.locals) > 0 {
		return u.locals[0].LocalAddr()
	}
	return u.sockets[0].LocalAddr()
}

// Serve answers until ctx ends, then answers what has already arrived, closes and returns.
func (u *UDP) Serve(ctx context.Context) error {
	var readers sync.WaitGroup
	conns := u.conns()
	errs := make([]error, len(conns))
	for n, c := range conns {
		readers.Go(func() { errs[n] = u.read(ctx, n, c) })
	}
	stop := context.AfterFunc(ctx, func() {
		for _, c := range conns {
			_ = c.SetReadDeadline(time.Now()) // wakes the reader
		}
	})
	defer stop()
	readers.Wait()
	return errors.Join(append(errs, u.Close())...)
}

func (u *UDP) conns() []datagramConn {
	var all []datagramConn
	for _, c := range u.sockets {
		all = append(all, c)
	}
	for _, c := range u.locals {
		all = append(all, c)
	}
	return all
}

// Close closes the sockets of a door that does not serve.
func (u *UDP) Close() error {
	var errs []error
	for _, c := range u.conns() {
		errs = append(errs, c.Close())
	}
	for _, p := range u.paths {
		if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// respond appends the answer to one datagram to reply, a line for each line, and returns it; empty means
// that nothing is to be sent.
func (u *UDP) respond(reader int, now window.Instant, packet, reply []byte) []byte {
	stats, lane, start := &u.stats[reader], u.edge.Lane(reader), len(reply)
	stats.packets.Add(1)
	lines := countLines(packet)
	if len(packet) > wire.MaxDatagram || lines > wire.MaxLines {
		stats.tooLong.Add(1)
		return u.fit(stats, reply, start, wire.Answer{Status: wire.Error, Code: wire.TooLong}, len(packet))
	}
	stats.lines.Add(uint64(lines)) // at most 64
	var d Decision
	silent := false
	for asked := 0; lines > 0; lines-- {
		line, rest, ended := bytes.Cut(packet, []byte{'\n'})
		packet = rest
		asked += len(line)
		stats.answer(&d, lane, now, line)
		before := len(reply)
		reply = u.fit(stats, reply, before, d.Answer, asked-(before-start))
		asked++
		switch {
		case len(reply) == before:
			silent = true
		case !ended && u.public:
			reply = reply[:len(reply)-1] // the question had no line feed to pay for this one
		}
	}
	if silent { // answers must stay in step with their lines: all or none
		return reply[:start]
	}
	return reply
}

// answer parses one line and decides it, into d.
func (s *udpStats) answer(d *Decision, lane *Lane, now window.Instant, line []byte) {
	q, code := wire.ParseQuery(line)
	switch code {
	case wire.NoError:
		lane.DecideTo(d, now, rand.Uint64(), &q) //nolint:gosec // ChaCha8, seeded by the system
		if d.Answer.Code == wire.UnknownRule {
			s.unknown.Add(1)
		}
		return
	case wire.TooLong:
		s.tooLong.Add(1)
	default:
		s.malformed.Add(1)
	}
	*d = Decision{Answer: wire.Answer{Status: wire.Error, Code: code, ID: q.ID}}
}

// fit appends a and a line feed. Off loopback the answer and the line feed of its question take no more
// than room bytes; fields are left out for it, and nothing is appended when even that is too much:
// nobody can be flooded through headgate.
func (u *UDP) fit(stats *udpStats, reply []byte, start int, a wire.Answer, room int) []byte {
	if !u.public {
		return append(wire.AppendAnswer(reply, a), '\n')
	}
	if a.Status == wire.Error {
		room-- // an error is no request: were it as long, two nodes could answer each other for ever
	}
	reply, ok := wire.AppendAnswerMax(reply, a, room)
	if !ok {
		stats.unanswered.Add(1)
		return reply[:start]
	}
	return append(reply, '\n')
}

// countLines counts lines; the last one may lack its line feed, and an empty datagram is one bad line.
func countLines(packet []byte) int {
	n := bytes.Count(packet, []byte{'\n'})
	if len(packet) == 0 || packet[len(packet)-1] != '\n' {
		n++
	}
	return n
}
