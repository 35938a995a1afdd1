//go:build !race

// The race detector takes what package syscall does for an order of events: see now_unix.go.

package door

import (
	"syscall"
	"unsafe"
)

// The calls below do not wait, and so are hidden from Go's scheduler: it would be told of each, and
// have a thread of its own look every 20 µs whether it waits, which on a busy core takes a tenth of
// the time.

// ReadNow reads the bytes that are there from a socket. syscall.EAGAIN says that there are none; 0
// bytes without an error are the end. b is not empty.
func ReadNow(fd int, b []byte) (int, error) {
	return now(syscall.SYS_RECVFROM, fd, b, syscall.MSG_DONTWAIT)
}

// WriteNow writes as much of b to a socket as there is room for, and returns how much that was. An
// error says that it was nothing. b is not empty.
func WriteNow(fd int, b []byte) (int, error) {
	return now(syscall.SYS_SENDTO, fd, b, syscall.MSG_DONTWAIT|syscall.MSG_NOSIGNAL)
}

// now makes a call that moves bytes, without an address.
func now(call uintptr, fd int, b []byte, flags uintptr) (int, error) {
	for {
		//nolint:gosec // package syscall has it with an address only
		n, _, errno := syscall.RawSyscall6(call, uintptr(fd),
			uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), flags, 0, 0)
		switch errno {
		case 0:
			return int(n), nil
		case syscall.EINTR:
		default:
			return 0, errno
		}
	}
}
