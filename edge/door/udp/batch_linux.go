package udp

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
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
	// maxReaders is the most sockets, each with a reader, on the same port.
	maxReaders = gate.Lanes
	// batch is the most datagrams of a system call.
	batch = 64
	// looks is the number of polls by a reader that has just answered, before it sleeps: 2 to 3 µs
	// in all. A client asking again at once arrives in that time. Sleeping and waking take far
	// longer.
	looks = 6
)

// mmsghdr is struct mmsghdr of recvmmsg(2). x/sys has neither the type nor the calls.
type mmsghdr struct {
	header unix.Msghdr
	n      uint32
}

// reader is the memory of a loop, about 1.2 MiB, allocated once. The kernel writes through the
// pointers in the headers, so a reader must not be copied.
type reader struct {
	in      [batch]mmsghdr
	inVec   [batch]unix.Iovec
	names   [batch]unix.RawSockaddrAny
	packets [batch][wire.MaxDatagram + 1]byte
	replies [batch][replyBytes]byte
	out     *outbox
	got     int  // datagrams of this batch
	at      int  // the one that is being answered
	used    int  // headers whose address length the kernel overwrote
	empty   bool // the last receive found nothing
	looks   int  // polls left before it sleeps
	turns   uint // batches answered
	err     error
	asker   asker
	rests   Reader
}

// newReader returns a reader whose headers point to the reader's buffers. Replies of up to longest
// bytes leave in runs: see outbox.
func newReader(longest int) *reader {
	r := &reader{used: batch, out: newOutbox(longest)}
	for k := range batch {
		r.inVec[k].Base = &r.packets[k][0]
		r.inVec[k].SetLen(len(r.packets[k]))
		//nolint:gosec // room for any address
		r.in[k].header.Name = (*byte)(unsafe.Pointer(&r.names[k]))
		r.in[k].header.Iov = &r.inVec[k]
		r.in[k].header.SetIovlen(1)
	}
	return r
}

// await polls the socket while looks are left, and once more. True: the runtime need not wait for
// the descriptor: see syscall.RawConn.
func (r *reader) await(fd uintptr) bool {
	for ; r.looks > 0; r.looks-- {
		if r.receive(fd) {
			return true
		}
	}
	if r.receive(fd) {
		return true
	}
	r.rests.Waits()
	return false
}

// receive makes a recvmmsg call without a wait, hidden from Go's scheduler like door.ReadNow. The
// number of datagrams is left in got; receive reports whether the descriptor need not be waited
// for. An error other than "nothing here" is left in err.
func (r *reader) receive(fd uintptr) bool {
	for k := range r.used { // the kernel wrote the length of the address it found
		r.in[k].header.Namelen = uint32(unsafe.Sizeof(r.names[k]))
	}
	r.used = 0
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVMMSG, fd,
		//nolint:gosec // x/sys has no recvmmsg
		uintptr(unsafe.Pointer(&r.in[0])), batch, unix.MSG_DONTWAIT, 0, 0)
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

// read is the loop of reader n on socket c: one batch in, one clock reading, one batch out. nil
// after ctx ended and the drain is done, else the error of the socket.
func (u *Door) read(ctx context.Context, n int, c datagramConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return fmt.Errorf("udp: reader: %w", err)
	}
	r := newReader(u.longestInRun(n))
	yield, err := door.NewYielder()
	if err != nil {
		return fmt.Errorf("udp: reader: %w", err)
	}
	defer func() { _ = yield.Close() }()
	r.asker, r.rests = u.newAsker(), u.share.Reader(yield.Yield)
	defer r.rests.Leave()
	await, send := r.await, r.out.send // one closure each, not one a batch
	for ctx.Err() == nil {
		if err := raw.Read(await); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return fmt.Errorf("udp: reader: %w", err)
		}
		if err := u.turn(n, r, raw, send); err != nil {
			return err
		}
		gave, err := r.rests.Worked(r.asker.now)
		if err != nil {
			return fmt.Errorf("udp: reader: %w", err)
		}
		if gave {
			u.stats[n].gaveWay.Add(1)
		}
	}
	r.rests.Leave()
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
	decisions := u.gate.Lane(n).Batch(now, rand.Uint64)
	r.out.reset()
	r.asker.now = now
	for r.at = 0; r.at < r.got; {
		u.answerOn(&u.stats[n], r, &decisions)
	}
	decisions.End() // before the replies: who has one may look at the figures
	r.got = 0
	if r.out.queued == 0 {
		return nil
	}
	err := raw.Control(send)
	u.stats[n].noteSent(r.out)
	if r.turns++; r.turns%door.LatencyEvery == 0 {
		u.stats[n].latency.Note(u.gate.Now().Sub(now))
	}
	if err != nil {
		return fmt.Errorf("udp: reader: %w", err)
	}
	return nil
}

// answerOn answers the datagrams of the batch from r.at on. A panic ends the run behind the
// datagram at fault.
func (u *Door) answerOn(stats *readerStats, r *reader, decisions *gate.Batch) {
	defer func() {
		if fault := recover(); fault != nil {
			u.panics.Note(fault)
			k := r.at
			r.at++
			r.answered(stats, k, u.broken(stats, r.packets[k][:r.in[k].n], r.replies[k][:0]))
		}
	}()
	for ; r.at < r.got; r.at++ {
		k := r.at
		r.asker.peer = peerOf(&r.names[k])
		r.answered(stats, k, u.respond(stats, decisions, &r.asker,
			r.packets[k][:r.in[k].n], r.replies[k][:0]))
	}
}

// answered queues the reply to datagram k, if any.
func (r *reader) answered(stats *readerStats, k int, reply []byte) {
	switch {
	case len(reply) == 0:
	case r.in[k].header.Namelen <= uint32(unsafe.Sizeof(r.names[k].Addr.Family)):
		stats.unanswered.Add(1) // a unix client without a name
	default:
		r.out.add(&r.in[k].header, reply)
	}
}

// longestInRun returns socket n's longest reply in runs, in bytes: 0 for a unix socket, which has
// no such thing.
func (u *Door) longestInRun(n int) int {
	switch {
	case n >= len(u.sockets):
		return 0
	case u.public:
		return publicSegment
	default:
		return replyBytes
	}
}

// noteSent counts the fates of the replies in o.
func (s *readerStats) noteSent(o *outbox) {
	s.sendFailed.Add(uint64(o.queued - o.sent)) // never negative
	s.inRuns.Add(uint64(o.inRuns))              // never negative
	if o.refused > 0 {
		s.runsRefused.Add(uint64(o.refused))
	}
}

// drainTurns is how many batches a drain answers also where drainTime is over before that: on a
// busy machine the process may not run for so long.
const drainTurns = 16

// drain answers the datagrams already arrived. A flood delays the stop by drainTime, or by
// drainTurns batches if longer.
func (u *Door) drain(n int, r *reader, raw syscall.RawConn) error {
	until := time.Now().Add(drainTime)
	for turns := 0; turns < drainTurns || time.Now().Before(until); turns++ {
		if err := raw.Control(func(fd uintptr) { r.receive(fd) }); err != nil {
			return fmt.Errorf("udp: reader: %w", err)
		}
		if r.empty {
			return nil
		}
		if err := u.turn(n, r, raw, r.out.send); err != nil {
			return err
		}
	}
	return nil
}

// peerOf returns the address in name, the zero Addr for a unix socket's.
func peerOf(name *unix.RawSockaddrAny) netip.Addr {
	switch name.Addr.Family {
	case unix.AF_INET:
		//nolint:gosec // as its family says
		return netip.AddrFrom4((*unix.RawSockaddrInet4)(unsafe.Pointer(name)).Addr)
	case unix.AF_INET6:
		//nolint:gosec // as its family says
		return netip.AddrFrom16((*unix.RawSockaddrInet6)(unsafe.Pointer(name)).Addr).Unmap()
	}
	return netip.Addr{}
}
