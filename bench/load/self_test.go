//go:build linux && (amd64 || arm64)

package main

import "golang.org/x/sys/unix"

// dialSelf returns a non-blocking UDP socket bound and connected to addr.
func dialSelf(addr string) (int, error) {
	to, family, err := sockaddr(addr)
	if err != nil {
		return -1, err
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM, 0)
	if err != nil {
		return -1, err
	}
	growBuffers(fd)
	if err := unix.Bind(fd, to); err != nil {
		return -1, err
	}
	if err := unix.Connect(fd, to); err != nil {
		return -1, err
	}
	return fd, unix.SetNonblock(fd, true)
}
