package udp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"

	"github.com/headgate-dev/headgate/edge/door"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/wire"
	"golang.org/x/sys/unix"
)

const (
	// maxReaders is the most sockets, each with its reader, on one port.
	maxReaders = gate.Lanes
	// batch is the most datagrams that one system call reads or writes.
	batch = 64
	// looks is the number of polls by a reader that has just answered, before it sleeps: 2 to 3 µs
	// in all. A client that asks again at once arrives in that time. Sleeping and waking take far
	// longer.
	looks = 6
)

// mmsghdr is struct mmsghdr of recvmmsg(2). x/sys has neither the type nor the calls.
type mmsghdr struct {
	header unix.Msghdr
	n      uint32
}

// reader is the memory of one loop, about 1.2 MiB, allocated once. The kernel writes through the
// pointers in the headers, so a reader must not be copied.
type reader struct {
	in, out   [batch]mmsghdr
	inVec     [batch]unix.Iovec
	outVec    [batch]unix.Iovec
	names     [batch]unix.RawSockaddrAny
	packets   [batch][wire.MaxDatagram + 1]byte
	replies   [batch][replyBytes]byte
	got, sent int  // datagrams of this batch
	used      int  // headers whose address length the kernel overwrote
	empty     bool // the last receive found nothing
	pending   int  // replies queued in out
	looks     int  // polls left before it sleeps
	turns     uint // batches answered
	err       error
}

// newReader returns a reader whose headers point to its own buffers.
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

// await polls the socket while looks are left, and once more. It reports whether the runtime need
// not wait for the descriptor: see syscall.RawConn.
func (r *reader) await(fd uintptr) bool {
	for ; r.looks > 0; r.looks-- {
		if r.receive(fd) {
			return true
		}
	}
	return r.receive(fd)
}

// receive makes one recvmmsg call that does not wait. It leaves the number of datagrams in got,
// and reports whether the descriptor need not be waited for. An error other than "nothing here" is
// left in err.
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

// send writes the pending replies with sendmmsg. A reply the kernel does not take at once is
// dropped and counted: a late answer is worth less than the next question.
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

// queue makes reply the answer to packet k. It must lie in replies[k], which stays valid until the
// batch is sent.
func (r *reader) queue(k int, reply []byte) {
	r.outVec[r.pending].Base = &reply[0]
	r.outVec[r.pending].SetLen(len(reply))
	out := &r.out[r.pending].header
	out.Name, out.Namelen = r.in[k].header.Name, r.in[k].header.Namelen
	out.Iov = &r.outVec[r.pending]
	out.SetIovlen(1)
	r.pending++
}

// read is the loop of reader n on socket c: one batch in, one clock reading, one batch out. It
// returns nil after ctx ended and the drain is done, else the error of the socket.
func (u *Door) read(ctx context.Context, n int, c datagramConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return fmt.Errorf("udp: reader: %w", err)
	}
	r := newReader()
	await, send := r.await, r.send // one closure each, not one a batch
	for ctx.Err() == nil {
		if err := raw.Read(await); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return fmt.Errorf("udp: reader: %w", err)
		}
		if err := u.turn(n, r, raw, send); err != nil {
			return err
		}
	}
	return u.drain(n, r, raw)
}

// turn decides and answers the batch in r. The turns counter is odd meanwhile: see Life.
func (u *Door) turn(n int, r *reader, raw syscall.RawConn, send func(uintptr)) error {
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
	now := u.gate.Now()
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
	if r.turns++; r.turns%door.LatencyEvery == 0 {
		u.stats[n].latency.Note(u.gate.Now().Sub(now))
	}
	if err != nil {
		return fmt.Errorf("udp: reader: %w", err)
	}
	return nil
}

// drain answers the datagrams that have already arrived, for drainTime at most, so that a flood
// cannot delay the stop.
func (u *Door) drain(n int, r *reader, raw syscall.RawConn) error {
	for until := time.Now().Add(drainTime); time.Now().Before(until); {
		if err := raw.Control(func(fd uintptr) { r.receive(fd) }); err != nil {
			return fmt.Errorf("udp: reader: %w", err)
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
