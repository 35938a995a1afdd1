//go:build !linux

package edge

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

const (
	// maxReaders is one: elsewhere the sockets that share a port are not given a share of the senders.
	maxReaders = 1
	// maxPacket is more than any datagram, in bytes: none is cut, so none too long looks right.
	maxPacket = 64 << 10
)

// reusable returns the way to listen.
func reusable() *net.ListenConfig { return &net.ListenConfig{} }

// reader is the loop's memory, allocated once.
type reader struct {
	packet [maxPacket]byte
	reply  [replyBytes]byte
	turns  uint // datagrams answered
}

// read is the reader's loop: a datagram in, one reading of the clock, an answer out. It goes by the
// deadline, not by ctx: the door sets one when ctx ends, and only after that may drain set another.
func (u *UDP) read(_ context.Context, n int, c datagramConn) error {
	_ = c.SetReadBuffer(receiveBuffer) // a wish
	r := &reader{}
	if err := u.readOn(n, r, c); !errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("edge: datagram reader: %w", err)
	}
	return u.drain(n, r, c)
}

// drain answers what has arrived by now, and what arrives while it does.
func (u *UDP) drain(n int, r *reader, c datagramConn) error {
	if err := c.SetReadDeadline(time.Now().Add(drainTime)); err != nil {
		return fmt.Errorf("edge: datagram reader: %w", err)
	}
	if err := u.readOn(n, r, c); !errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("edge: datagram reader: %w", err)
	}
	return nil
}

// readOn answers until the deadline, or until the socket is closed, and returns which it was.
func (u *UDP) readOn(n int, r *reader, c datagramConn) error {
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

// reply answers one datagram.
func (u *UDP) reply(n int, r *reader, c datagramConn, packet []byte, from net.Addr) {
	now := u.edge.Now()
	u.stats[n].turns.Add(1)
	defer u.stats[n].turns.Add(1)
	reply := u.respond(n, now, packet, r.reply[:0])
	switch {
	case len(reply) == 0:
	case from == nil:
		u.stats[n].unanswered.Add(1) // a unix client without a name
	default:
		if _, err := c.WriteTo(reply, from); err != nil {
			u.stats[n].sendFailed.Add(1)
		}
		if r.turns++; r.turns%latencyEvery == 0 {
			u.stats[n].latency.note(u.edge.Now().Sub(now))
		}
	}
}
