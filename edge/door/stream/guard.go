package stream

import (
	"crypto/tls"
	"net/netip"
	"sync/atomic"
	"time"
)

// FirstUnit bounds the time from the accept of a connection to the end of the handshake of TLS, and where a protocol
// has a greeting to the end of that.
const FirstUnit = 2 * time.Second

// Guard says which connections of a door may ask: those over TLS, from this machine, and from
// machines that are trusted. The zero Guard trusts no other machine. Its methods may be called
// concurrently, but Protocol is set before.
type Guard struct {
	Protocol string // by ALPN, which TLS must agree on; empty: any

	trusts               atomic.Pointer[func(netip.Addr) bool]
	untrusted, unsecured atomic.Uint64
}

// SetTrust says which machines may connect without TLS.
func (g *Guard) SetTrust(trusts func(netip.Addr) bool) { g.trusts.Store(&trusts) }

// Refused returns how many connections were plain and not trusted, and how many failed at TLS.
func (g *Guard) Refused() (untrusted, unsecured uint64) {
	return g.untrusted.Load(), g.unsecured.Load()
}

// Admits reports whether c may ask, and counts it if not. It is called once a connection, before the
// first read; over TLS it waits for the handshake, until FirstUnit after the accept.
func (g *Guard) Admits(c *Conn) bool {
	if secure, ok := c.Conn.(*tls.Conn); ok {
		_ = c.SetDeadline(c.accepted.Add(FirstUnit))
		err := secure.Handshake()
		_ = c.SetDeadline(time.Time{})
		if err == nil && (g.Protocol == "" || secure.ConnectionState().NegotiatedProtocol == g.Protocol) {
			return true
		}
		g.unsecured.Add(1)
		return false
	}
	peer, trusts := c.Peer(), g.trusts.Load()
	if !peer.IsValid() || peer.IsLoopback() || trusts != nil && (*trusts)(peer) {
		return true
	}
	g.untrusted.Add(1)
	return false
}
