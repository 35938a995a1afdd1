//go:build !linux

package udp

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/headgate-dev/headgate/edge/door"
	"github.com/headgate-dev/headgate/edge/gate"
)

const (
	// maxReaders is one: other systems do not spread senders over sockets sharing a port.
	maxReaders = 1
	// maxPacket exceeds the largest datagram, in bytes: no datagram is cut and then mistaken for a
	// short datagram.
	maxPacket = 64 << 10
)

// listenAlone opens a socket on a port no other socket has.
func listenAlone(ctx context.Context, network, address string) (*net.UDPConn, error) {
	c, err := new(net.ListenConfig).ListenPacket(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return c.(*net.UDPConn), nil // of network udp
}

// listenBeside would open another socket on the same port. Never called, since maxReaders is one.
func listenBeside(context.Context, string, string) (*net.UDPConn, error) {
	return nil, errors.ErrUnsupported
}

// reader is the memory of the loop, allocated once.
type reader struct {
	packet [maxPacket]byte
	reply  [replyBytes]byte
	turns  uint // datagrams answered
	asker  asker
}

// read is the loop of reader n: one datagram in, one clock reading, one answer out. The end is by
// the read deadline and not by ctx: the door sets a deadline when ctx ends, and only afterwards may
// drain set another.
func (u *Door) read(_ context.Context, n int, c datagramConn) error {
	_ = c.SetReadBuffer(receiveBuffer) // best effort
	r := &reader{asker: u.newAsker()}
	if err := u.readOn(n, r, c); !errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("udp: reader: %w", err)
	}
	return u.drain(n, r, c)
}

// drain answers datagrams arrived or arriving within drainTime.
func (u *Door) drain(n int, r *reader, c datagramConn) error {
	if err := c.SetReadDeadline(time.Now().Add(drainTime)); err != nil {
		return fmt.Errorf("udp: reader: %w", err)
	}
	if err := u.readOn(n, r, c); !errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("udp: reader: %w", err)
	}
	return nil
}

// readOn answers datagrams until the read deadline passes or the socket is closed, and returns the
// error.
func (u *Door) readOn(n int, r *reader, c datagramConn) error {
	for {
		size, from, err := c.ReadFrom(r.packet[:])
		switch {
		case err == nil:
			u.reply(n, r, c, r.packet[:size], from)
		case errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, net.ErrClosed):
			return err
		default:
			u.stats[n].sendFailed.Add(1) // an error of an earlier send, reported by the receive
		}
	}
}

// answerOne decides a datagram and returns the reply.
func (u *Door) answerOne(
	stats *readerStats, r *reader, decisions *gate.Batch, packet []byte,
) (reply []byte) {
	defer func() {
		if fault := recover(); fault != nil {
			u.panics.Note(fault)
			reply = u.broken(stats, packet, r.reply[:0])
		}
	}()
	return u.respond(stats, decisions, &r.asker, packet, r.reply[:0])
}

// reply answers a datagram. The turns counter is odd meanwhile: see Life.
func (u *Door) reply(n int, r *reader, c datagramConn, packet []byte, from net.Addr) {
	now := u.gate.Now()
	u.stats[n].turns.Add(1)
	defer u.stats[n].turns.Add(1)
	decisions := u.gate.Lane(n).Batch(now, rand.Uint64)
	r.asker.now, r.asker.peer = now, netip.Addr{}
	if at, ok := from.(*net.UDPAddr); ok {
		r.asker.peer = at.AddrPort().Addr().Unmap()
	}
	reply := u.answerOne(&u.stats[n], r, &decisions, packet)
	decisions.End()
	switch {
	case len(reply) == 0:
	case from == nil:
		u.stats[n].unanswered.Add(1) // a unix client without a name
	default:
		if _, err := c.WriteTo(reply, from); err != nil {
			u.stats[n].sendFailed.Add(1)
		}
		if r.turns++; r.turns%door.LatencyEvery == 0 {
			u.stats[n].latency.Note(u.gate.Now().Sub(now))
		}
	}
}
