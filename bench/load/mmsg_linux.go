//go:build linux && (amd64 || arm64)

package main

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxBatch is how many datagrams one system call carries.
// the server's own batch
const maxBatch = 64

// maxReply bounds one reply datagram in bytes: 64 reply lines at their longest.
const maxReply = 16 << 10

// mmsghdr is struct mmsghdr of sendmmsg(2).
// The last field is padding: the kernel's struct is aligned to 8 bytes on both architectures.
type mmsghdr struct {
	hdr unix.Msghdr
	n   uint32
	_   uint32
}

// batch is a vector of datagrams for one system call; it is reused and must not be copied.
// Its headers point into itself, hence no copying.
type batch struct {
	hdrs [maxBatch]mmsghdr
	iovs [maxBatch]unix.Iovec
}

func newBatch() *batch {
	b := &batch{}
	for i := range b.hdrs {
		b.hdrs[i].hdr.Iov = &b.iovs[i]
		b.hdrs[i].hdr.SetIovlen(1)
	}
	return b
}

// set makes datagram i the bytes of p, which must not be empty and must stay untouched during the
// call.
func (b *batch) set(i int, p []byte) {
	b.iovs[i].Base = &p[0]
	b.iovs[i].SetLen(len(p))
}

// newReplies returns a batch whose datagrams are buffers to receive into.
func newReplies() *batch {
	b := newBatch()
	for i := range b.iovs {
		b.set(i, make([]byte, maxReply))
	}
	return b
}

// reply returns the i-th datagram received by the last call.
func (b *batch) reply(i int) []byte {
	return unsafe.Slice(b.iovs[i].Base, b.hdrs[i].n) //nolint:gosec // the kernel wrote that many bytes
}

// send sends the first n datagrams without waiting and returns how many went out. A full queue is
// not an error: 0 went out.
func (b *batch) send(fd, n int) (int, error) { return b.call(unix.SYS_SENDMMSG, "sendmmsg", fd, n) }

// receive takes the datagrams that are there, without waiting, and returns how many datagrams that
// were.
func (b *batch) receive(fd int) (int, error) {
	return b.call(unix.SYS_RECVMMSG, "recvmmsg", fd, maxBatch)
}

// call is a raw system call: it never blocks, and the scheduler need not be told of it.
// With Go's own Syscall the scheduler would be told twice, of a call that never waits.
func (b *batch) call(trap uintptr, name string, fd, n int) (int, error) {
	first := unsafe.Pointer(&b.hdrs[0]) //nolint:gosec // x/sys has no mmsg calls
	done, _, errno := unix.RawSyscall6(trap, uintptr(fd), uintptr(first), uintptr(n),
		unix.MSG_DONTWAIT, 0, 0)
	if errno == 0 {
		return int(done), nil
	}
	if errors.Is(errno, unix.EAGAIN) || errors.Is(errno, unix.EINTR) ||
		errors.Is(errno, unix.ENOBUFS) {
		return 0, nil
	}
	return 0, os.NewSyscallError(name, errno)
}
