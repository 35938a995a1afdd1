//go:build linux && (amd64 || arm64)

package main

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// socketBuffer is asked for in both directions, in bytes, so that a full window fits.
// With the default, some 200 KiB, a window of large datagrams would be lost in the load's own
// socket and look like the server's loss.
const socketBuffer = 4 << 20

// dial opens a connected, non-blocking socket of the given type (SOCK_DGRAM or SOCK_STREAM). It is
// not known to the Go runtime: its poller would be woken on every packet.
// The price of Go's poller would be measured along with the server's answer.
func dial(addr string, kind int) (int, error) {
	to, family, err := sockaddr(addr)
	if err != nil {
		return -1, err
	}
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	if err := connect(fd, to, family, kind); err != nil {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("connect to %s: %w", addr, err)
	}
	return fd, nil
}

// connect tunes, binds where replies need it, connects (waiting for it), then stops blocking.
// Connected, also for datagrams: send and receive then need no address, and answers of others are
// not seen.
func connect(fd int, to unix.Sockaddr, family, kind int) error {
	if kind == unix.SOCK_DGRAM {
		growBuffers(fd)
	} else if family != unix.AF_UNIX {
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
			return os.NewSyscallError("setsockopt", err)
		}
	}
	if family == unix.AF_UNIX && kind == unix.SOCK_DGRAM {
		// An empty name asks the kernel for a free abstract one: replies need somewhere to go.
		if err := unix.Bind(fd, &unix.SockaddrUnix{}); err != nil {
			return os.NewSyscallError("bind", err)
		}
	}
	if err := unix.Connect(fd, to); err != nil {
		return os.NewSyscallError("connect", err)
	}
	return unix.SetNonblock(fd, true)
}

// growBuffers asks for large buffers, past the system's limit where that is allowed; a small buffer
// shows as loss in the report, so a refusal is no error here.
func growBuffers(fd int) {
	for _, o := range [][2]int{{unix.SO_RCVBUFFORCE, unix.SO_RCVBUF}, {unix.SO_SNDBUFFORCE, unix.SO_SNDBUF}} {
		if unix.SetsockoptInt(fd, unix.SOL_SOCKET, o[0], socketBuffer) != nil {
			_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, o[1], socketBuffer)
		}
	}
}

// sockaddr reads host:port or unix:/path.
// Names are resolved here, once, before the clock starts.
func sockaddr(addr string) (unix.Sockaddr, int, error) {
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		return &unix.SockaddrUnix{Name: path}, unix.AF_UNIX, nil
	}
	u, err := net.ResolveUDPAddr("udp", addr)
	if err != nil {
		return nil, 0, fmt.Errorf("address %q: %w", addr, err)
	}
	ip, _ := netip.AddrFromSlice(u.IP)
	if ip = ip.Unmap(); ip.Is4() || !ip.IsValid() {
		return &unix.SockaddrInet4{Port: u.Port, Addr: v4(ip)}, unix.AF_INET, nil
	}
	return &unix.SockaddrInet6{Port: u.Port, Addr: ip.As16()}, unix.AF_INET6, nil
}

// v4 returns the four bytes; no address (":4290") means this host.
func v4(ip netip.Addr) [4]byte {
	if !ip.IsValid() {
		return [4]byte{127, 0, 0, 1}
	}
	return ip.As4()
}
