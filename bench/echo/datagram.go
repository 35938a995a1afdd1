package main

import (
	"net"
	"strings"

	"golang.org/x/net/ipv4"
)

// Sizes of the datagram echoes, the same as in echo.c.
const (
	datagram     = 8 << 10 // bytes
	batchSize    = 64      // datagrams a system call
	socketBuffer = 4 << 20 // bytes asked for
)

// The buffer is the one that headgate asks for: a smaller one would lose packets under a full
// window. The kernel gives no more than net.core.rmem_max, and reports no error when that is less.
func listenUDP(addr string) (*net.UDPConn, error) {
	at, err := net.ResolveUDPAddr("udp4", addr)
	if err != nil {
		return nil, err
	}
	c, err := net.ListenUDP("udp4", at)
	if err != nil {
		return nil, err
	}
	return c, c.SetReadBuffer(socketBuffer)
}

// echoUDP is the simplest Go program: no allocation, one system call each way.
func echoUDP(addr string) error {
	c, err := listenUDP(addr)
	if err != nil {
		return err
	}
	buf := make([]byte, datagram)
	for {
		// AddrPort and not *UDPAddr: the latter is an allocation for each datagram.
		n, from, err := c.ReadFromUDPAddrPort(buf)
		if err != nil {
			return err
		}
		if _, err := c.WriteToUDPAddrPort(buf[:n], from); err != nil {
			return err
		}
	}
}

// echoUDPBatch reads and writes up to batchSize datagrams with one system call.
// It is x/net's portable way; headgate makes the same two system calls by itself.
func echoUDPBatch(addr string) error {
	c, err := listenUDP(addr)
	if err != nil {
		return err
	}
	p := ipv4.NewPacketConn(c)
	in, out := make([]ipv4.Message, batchSize), make([]ipv4.Message, batchSize)
	for i := range in {
		// Made once: the loop below moves slices about and allocates nothing of its own.
		in[i].Buffers = [][]byte{make([]byte, datagram)}
		out[i].Buffers = [][]byte{nil}
	}
	for {
		n, err := p.ReadBatch(in, 0)
		if err != nil {
			return err
		}
		for i, m := range in[:n] {
			out[i].Buffers[0], out[i].Addr = m.Buffers[0][:m.N], m.Addr
		}
		if err := writeAll(p, out[:n]); err != nil {
			return err
		}
	}
}

// The kernel may take fewer datagrams than it was given.
// The rest is sent in a further call, or the load would wait for it and count it as lost.
func writeAll(p *ipv4.PacketConn, out []ipv4.Message) error {
	for len(out) > 0 {
		n, err := p.WriteBatch(out, 0)
		if err != nil {
			return err
		}
		out = out[n:]
	}
	return nil
}

// The sender must have bound a name of its own, or there is nowhere to send back to.
func echoUnix(addr string) error {
	at := &net.UnixAddr{Name: strings.TrimPrefix(addr, "unix:"), Net: "unixgram"}
	c, err := net.ListenUnixgram("unixgram", at)
	if err != nil {
		return err
	}
	buf := make([]byte, datagram)
	for {
		n, from, err := c.ReadFromUnix(buf)
		if err != nil {
			return err
		}
		if _, err := c.WriteToUnix(buf[:n], from); err != nil {
			return err
		}
	}
}
