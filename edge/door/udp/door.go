package udp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/door"
	"github.com/headgate-dev/headgate/edge/door/lines"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/latency"
	"github.com/headgate-dev/headgate/edge/wire"
)

const (
	// drainTime bounds the answering of arrived datagrams after the stop.
	drainTime = 50 * time.Millisecond
	// receiveBuffer is the requested kernel buffer of a socket, in bytes. About a millisecond of
	// traffic at full speed would do; the rest absorbs bursts. The kernel may grant less
	// (net.core.rmem_max on Linux).
	receiveBuffer = 4 << 20
	// replyBytes holds the longest reply, in bytes: MaxLines answers with an id and all fields.
	replyBytes = wire.MaxLines * 160
)

// datagramConn is the part of a socket a reader uses.
type datagramConn interface {
	net.PacketConn
	SetReadBuffer(bytes int) error
	SyscallConn() (syscall.RawConn, error)
}

// Door is an open datagram address: sockets and a fixed number of reader loops. Made by Listen;
// Serve is called once, or Close instead. Stats and AddLatency are safe for concurrent use.
type Door struct {
	gate    *gate.Gate
	room    *ask.Room
	sockets []*net.UDPConn
	locals  []*net.UnixConn
	paths   []string // socket files to remove at the end
	public  bool     // not on loopback: a reply is never longer than its request
	share   *Share   // nil: there are no other doors
	panics  door.Panics
	unread  lines.Unread
	// apart from the door and without pointers: so the allocator places counters on a cache line
	stats *[gate.Lanes]readerStats
}

// Stats are totals since the door was opened. The gate counts the decisions.
type Stats struct {
	Packets     uint64 // datagrams read
	Lines       uint64 // request lines in them
	Malformed   uint64 // lines answered bad-request
	UnknownRule uint64 // lines that named no rule in force
	TooLong     uint64 // datagrams or lines over a bound
	// replies not sent: longer than the request, or the sender has no address
	Unanswered  uint64
	SendFailed  uint64 // replies the kernel did not take
	InRuns      uint64 // replies that left several to a message: see outbox; 0 off Linux
	RunsRefused uint64 // runs the kernel refused, after which their socket made no more
	// times a reader which never waited let others run: see …/rest; 0 off Linux
	GaveWay uint64
}

// readerStats are the counters of a reader, padded to whole pairs of cache lines, which processors
// fetch together, so readers do not contend.
type readerStats struct {
	packets, lines, malformed, unknown, tooLong, unanswered, sendFailed atomic.Uint64

	inRuns, runsRefused, gaveWay atomic.Uint64

	latency latency.Histogram
	turns   atomic.Uint64 // odd while a batch is being answered: see Life
	_       [104]byte
}

// Panics counts the faults of the daemon a line of this door met.
func (u *Door) Panics() *door.Panics { return &u.panics }

// Unread keeps the unread lines of this door.
func (u *Door) Unread() *lines.Unread { return &u.unread }

// AddLatency adds the timed batches of all readers to sum.
func (u *Door) AddLatency(sum *latency.Sum) {
	for n := range u.stats {
		sum.Add(&u.stats[n].latency)
	}
}

// Stats adds up the counters of all readers. No lock: the counters are read in turn.
func (u *Door) Stats() (sum Stats) {
	for n := range u.stats {
		s := &u.stats[n]
		sum.Packets += s.packets.Load()
		sum.Lines += s.lines.Load()
		sum.Malformed += s.malformed.Load()
		sum.UnknownRule += s.unknown.Load()
		sum.TooLong += s.tooLong.Load()
		sum.Unanswered += s.unanswered.Load()
		sum.SendFailed += s.sendFailed.Load()
		sum.InRuns += s.inRuns.Load()
		sum.RunsRefused += s.runsRefused.Load()
		sum.GaveWay += s.gaveWay.Load()
	}
	return sum
}

// Listen opens the datagram door of g at address, with readers loops, at least 1 and at most
// maxReaders. room decides whole requests; without a room such lines are bad requests. For UDP each
// loop has a socket on the same port; a unix socket has a single loop, as has every door off Linux.
// A unix socket file has mode door.SocketMode.
//
// A port or socket in use by another door is an error: each would see only a part of the requests.
// Nothing is read before Serve.
func Listen(
	ctx context.Context, g *gate.Gate, room *ask.Room, address config.Address, readers int,
) (*Door, error) {
	u := &Door{
		gate: g, room: room, public: !address.Loopback(),
		stats: new([gate.Lanes]readerStats),
	}
	network, at := address.Packet()
	if address.IsUnix() {
		return u, u.listenUnix(ctx, at)
	}
	listen := listenAlone
	for range max(1, min(readers, maxReaders)) {
		c, err := listen(ctx, network, at)
		if err != nil {
			return nil, errors.Join(udpError(at, err), u.Close())
		}
		u.sockets = append(u.sockets, c)
		listen, at = listenBeside, c.LocalAddr().String() // port 0 is drawn once
	}
	return u, nil
}

// udpError returns err with the reason why the door at an address is not open.
func udpError(at string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("udp: listen on udp %s: another process listens there, and each would "+
			"receive only part of the requests: %w", at, err)
	}
	return fmt.Errorf("udp: listen on udp %s: %w", at, err)
}

// listenUnix opens the unix datagram socket at path, replacing a dead socket.
func (u *Door) listenUnix(ctx context.Context, path string) error {
	if err := door.RemoveStale(ctx, "unixgram", path); err != nil {
		return fmt.Errorf("udp: listen on unix datagram socket: %w", err)
	}
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("udp: listen on unix datagram socket: %w", err)
	}
	u.locals, u.paths = append(u.locals, c), append(u.paths, path)
	if err := os.Chmod(path, door.SocketMode); err != nil {
		return errors.Join(fmt.Errorf("udp: listen on unix datagram socket: %w", err), u.Close())
	}
	return nil
}

// ShareWith has the readers of u share the processors with other doors, as s says. Called before
// Serve, or not at all. Without effect off Linux: there a door has a single reader.
func (u *Door) ShareWith(s *Share) { u.share = s }

// Addr returns the address the door listens on, with the port picked for port 0.
func (u *Door) Addr() net.Addr {
	if len(u.locals) > 0 {
		return u.locals[0].LocalAddr()
	}
	return u.sockets[0].LocalAddr()
}

// Serve answers datagrams until ctx ends, then the datagrams already arrived, and closes the
// sockets. Serve waits for the readers and returns their errors; a failing socket ends only the
// socket's reader. For a single call.
func (u *Door) Serve(ctx context.Context) error {
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

// conns returns all sockets of the door: the n-th belongs to reader n.
func (u *Door) conns() []datagramConn {
	var all []datagramConn
	for _, c := range u.sockets {
		all = append(all, c)
	}
	for _, c := range u.locals {
		all = append(all, c)
	}
	return all
}

// Close closes the sockets and removes the socket files. For a door without Serve.
func (u *Door) Close() error {
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
