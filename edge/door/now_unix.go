//go:build unix && (!linux || race)

package door

import "syscall"

// ReadNow reads the bytes that are there from a socket that does not block. syscall.EAGAIN says
// that there are none; 0 bytes without an error are the end.
func ReadNow(fd int, b []byte) (int, error) { return now(syscall.Read, fd, b) }

// WriteNow writes as much of b to a socket that does not block as there is room for, and returns
// how much that was. An error says that it was nothing.
func WriteNow(fd int, b []byte) (int, error) { return now(syscall.Write, fd, b) }

func now(call func(int, []byte) (int, error), fd int, b []byte) (int, error) {
	for {
		n, err := call(fd, b)
		if err != syscall.EINTR { // system calls return nothing else
			return max(n, 0), err
		}
	}
}
