package stream

import (
	"crypto/tls"
	"net/netip"
	"sync/atomic"
	"time"
)

// FirstUnit bounds the time from the accept of a connection to the end of the handshake of TLS, and
// where a protocol has a greeting to the end of that.
const FirstUnit = 2 * time.Second

// Guard says which connections of a door may ask: those from this machine, from machines trusted,
// and those over TLS with a certificate, or that are to show a password. The zero Guard trusts no
// other machine. Its methods may be called concurrently; the exported fields are set before.
type Guard struct {
	Protocol string      // by ALPN, which TLS must agree on; empty: any
	Anybody  bool        // also those over TLS that neither have a certificate nor are trusted
	Asks     func() bool // reports whether the protocol asks for a password; nil: it does not

	trusts               atomic.Pointer[func(netip.Addr) bool]
	untrusted, unsecured atomic.Uint64
}

// SetTrust says which machines may connect without a certificate.
func (g *Guard) SetTrust(trusts func(netip.Addr) bool) { g.trusts.Store(&trusts) }

// Refused returns how many connections had no certificate and were not trusted, and how many failed
// at TLS.
func (g *Guard) Refused() (untrusted, unsecured uint64) {
	return g.untrusted.Load(), g.unsecured.Load()
}

// Admits reports whether c may ask, and counts it if not. It is called once a connection, before
// the first read; over TLS it waits for the handshake, until FirstUnit after the accept.
func (g *Guard) Admits(c *Conn) bool {
	if secure, ok := c.Conn.(*tls.Conn); ok {
		_ = c.SetDeadline(c.accepted.Add(FirstUnit))
		err := secure.Handshake()
		_ = c.SetDeadline(time.Time{})
		state := secure.ConnectionState()
		if err != nil || g.Protocol != "" && state.NegotiatedProtocol != g.Protocol {
			g.unsecured.Add(1)
			return false
		}
		if g.Anybody || len(state.PeerCertificates) > 0 || g.Asks != nil && g.Asks() {
			return true
		}
	}
	peer, trusts := c.Peer(), g.trusts.Load()
	if !peer.IsValid() || peer.IsLoopback() || trusts != nil && (*trusts)(peer) {
		return true
	}
	g.untrusted.Add(1)
	return false
}
