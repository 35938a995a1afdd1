package door

import (
	"net"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Ended reports whether the other end of the socket has closed it, and sent nothing before. It does
// not wait, and Go's scheduler does not hear of it: see now_linux.go.
func Ended(fd uintptr) bool {
	var one [1]byte
	//nolint:gosec // as there
	n, _, errno := syscall.RawSyscall6(unix.SYS_RECVFROM, fd, uintptr(unsafe.Pointer(&one)), 1,
		unix.MSG_PEEK|unix.MSG_DONTWAIT, 0, 0)
	return n == 0 && errno == 0 || errno == unix.ECONNRESET
}

// fate reports whether the kernel of the peer has refused a byte written to c, or has taken all. A
// kernel takes no byte for a closed socket, and answers by a reset. After an end of the stream no
// read tells of it.
func fate(c net.Conn) (refused, taken bool) {
	taken = true // where nothing is known
	control(c, func(fd uintptr) {
		fault, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR)
		refused = err == nil && fault != 0
		left, err := unix.IoctlGetInt(int(fd), unix.SIOCOUTQ)
		taken = err != nil || left == 0
	})
	return refused, taken
}
