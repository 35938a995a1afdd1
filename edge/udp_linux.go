package edge

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/headgate-dev/headgate/edge/wire"
)

const (
	// maxReaders is how many sockets may share a port, each with its reader.
	maxReaders = Lanes
	// batch is how many datagrams one system call reads or writes.
	batch = 64
	// looks is how often a reader that has just answered looks for more before it sleeps: 2 to 3 µs, in
	// which a client that asks again at once has done so. To be put to sleep and woken takes far longer.
	looks = 6
)

// reusable returns the way to listen so that several sockets share a port and the kernel spreads the
// senders over them.
func reusable() *net.ListenConfig {
	return &net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		outer := c.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
			_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, receiveBuffer) // a wish
		})
		return errors.Join(outer, err)
	}}
}

// mmsghdr is struct mmsghdr of recvmmsg(2).
type mmsghdr struct {
	header unix.Msghdr
	n      uint32
}

// reader is one loop's memory, allocated once: the headers point into it.
type reader struct {
	in, out   [batch]mmsghdr
	inVec     [batch]unix.Iovec
	outVec    [batch]unix.Iovec
	names     [batch]unix.RawSockaddrAny
	packets   [batch][wire.MaxDatagram + 1]byte
	replies   [batch][replyBytes]byte
	got, sent int
	used      int  // headers the kernel wrote to since they were set
	empty     bool // nothing was waiting
	pending   int
	looks     int  // left before it sleeps
	turns     uint // batches answered
	err       error
}

func newReader() *reader {
	r := &reader{used: batch}
	for k := range batch {
		r.inVec[k].Base = &r.packets[k][0]
		r.inVec[k].SetLen(len(r.packets[k]))
		r.in[k].header.Name = (*byte)(unsafe.Pointer(&r.names[k])) //nolint:gosec // room for any address
		r.in[k].header.Iov = &r.inVec[k]
		r.in[k].header.SetIovlen(1)
	}
	return r
}

// await is receive, tried again while looks are left.
func (r *reader) await(fd uintptr) bool {
	for ; r.looks > 0; r.looks-- {
		if r.receive(fd) {
			return true
		}
	}
	return r.receive(fd)
}

// receive is one recvmmsg without waiting; it reports whether the descriptor need not be waited for.
func (r *reader) receive(fd uintptr) bool {
	for k := range r.used { // the kernel wrote the length of the address it found
		r.in[k].header.Namelen = uint32(unsafe.Sizeof(r.names[k]))
	}
	r.used = 0
	n, _, errno := unix.Syscall6(unix.SYS_RECVMMSG, fd,
		uintptr(unsafe.Pointer(&r.in[0])), batch, unix.MSG_DONTWAIT, 0, 0) //nolint:gosec // x/sys has no recvmmsg
	r.got, r.err, r.empty = int(n), nil, errno == unix.EAGAIN
	if errno != 0 {
		r.got = 0
		if !r.empty && errno != unix.EINTR {
			r.err = errno
		}
		return !r.empty
	}
	r.used = r.got
	return true
}

// send writes the pending replies. What the kernel does not take at once is dropped and counted: an
// answer that waits is worth less than the next question.
func (r *reader) send(fd uintptr) {
	for at := 0; at < r.pending; {
		n, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, fd,
			uintptr(unsafe.Pointer(&r.out[at])), //nolint:gosec // x/sys has no sendmmsg
			uintptr(r.pending-at), unix.MSG_DONTWAIT, 0, 0)
		if errno != 0 {
			at++ // this one cannot be sent; the others may
			continue
		}
		r.sent += int(n)
		at += int(n)
	}
}

// queue makes reply, which lies in replies[k], the answer to packet k.
func (r *reader) queue(k int, reply []byte) {
	r.outVec[r.pending].Base = &reply[0]
	r.outVec[r.pending].SetLen(len(reply))
	out := &r.out[r.pending].header
	out.Name, out.Namelen = r.in[k].header.Name, r.in[k].header.Namelen
	out.Iov = &r.outVec[r.pending]
	out.SetIovlen(1)
	r.pending++
}

// read is one reader's loop: a batch in, one reading of the clock, a batch out.
func (u *UDP) read(ctx context.Context, n int, c datagramConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return fmt.Errorf("edge: datagram reader: %w", err)
	}
	r := newReader()
	await, send := r.await, r.send // one closure each, not one a batch
	for ctx.Err() == nil {
		if err := raw.Read(await); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return fmt.Errorf("edge: datagram reader: %w", err)
		}
		if err := u.turn(n, r, raw, send); err != nil {
			return err
		}
	}
	return u.drain(n, r, raw)
}

// turn answers the batch that was received.
func (u *UDP) turn(n int, r *reader, raw syscall.RawConn, send func(uintptr)) error {
	if r.err != nil {
		u.stats[n].sendFailed.Add(1) // an error of an earlier send, reported by the receive
		r.err = nil
	}
	if r.got == 0 {
		return nil
	}
	u.stats[n].turns.Add(1)
	defer u.stats[n].turns.Add(1)
	r.looks = looks
	now := u.edge.Now()
	r.pending, r.sent = 0, 0
	for k := range r.got {
		reply := u.respond(n, now, r.packets[k][:r.in[k].n], r.replies[k][:0])
		switch {
		case len(reply) == 0:
		case r.in[k].header.Namelen <= uint32(unsafe.Sizeof(r.names[k].Addr.Family)):
			u.stats[n].unanswered.Add(1) // a unix client without a name
		default:
			r.queue(k, reply)
		}
	}
	r.got = 0
	if r.pending == 0 {
		return nil
	}
	err := raw.Control(send)
	u.stats[n].sendFailed.Add(uint64(r.pending - r.sent))
	if r.turns++; r.turns%latencyEvery == 0 {
		u.stats[n].latency.note(u.edge.Now().Sub(now))
	}
	if err != nil {
		return fmt.Errorf("edge: datagram reader: %w", err)
	}
	return nil
}

// drain answers what has arrived by now, for drainTime at most: a flood must not hold up the stop.
func (u *UDP) drain(n int, r *reader, raw syscall.RawConn) error {
	for until := time.Now().Add(drainTime); time.Now().Before(until); {
		if err := raw.Control(func(fd uintptr) { r.receive(fd) }); err != nil {
			return fmt.Errorf("edge: datagram reader: %w", err)
		}
		if r.empty {
			return nil
		}
		if err := u.turn(n, r, raw, r.send); err != nil {
			return err
		}
	}
	return nil
}
