package client

import (
	"net/http"
	"net/netip"
	"strings"
)

// ClientAddress returns the address of the client that sent r, without zone, an IPv4-mapped IPv6
// address as IPv4. The zero Addr if r has no address, which happens behind a unix socket only.
//
// The peer of the connection, unless in a trusted prefix (or on a unix socket). Else the rightmost
// address of X-Forwarded-For outside the trusted prefixes: the client wrote the addresses further
// left. Where all are trusted, the leftmost, and where an address cannot be read, the next to the
// right. No header of an untrusted peer is read.
//
//nolint:revive // not the address of headgate
func ClientAddress(r *http.Request, trusted []netip.Prefix) netip.Addr {
	address, ok := parseAddress(r.RemoteAddr)
	if ok && !contains(trusted, address) || !ok && !isUnix(r.RemoteAddr) {
		return address
	}
	lines := r.Header["X-Forwarded-For"]
	for n := len(lines) - 1; n >= 0; n-- {
		for line, more := lines[n], true; more; {
			var last string
			line, last, more = cutLast(line)
			next, ok := parseAddress(last)
			if !ok {
				return address
			}
			if address = next; !contains(trusted, address) {
				return address
			}
		}
	}
	return address
}

// isUnix reports whether a peer's address is a unix socket's: a path, "@name", or no name.
func isUnix(peer string) bool { return peer == "" || peer[0] == '@' || peer[0] == '/' }

// cutLast splits a list at the last comma. more reports whether there was a comma.
func cutLast(list string) (before, last string, more bool) {
	if i := strings.LastIndexByte(list, ','); i >= 0 {
		return list[:i], list[i+1:], true
	}
	return "", list, false
}

// parseAddress reads 192.0.2.1, 2001:db8::1, [2001:db8::1], each with a port or a zone or without.
func parseAddress(text string) (netip.Addr, bool) {
	text = strings.Trim(text, " \t")
	if port, err := netip.ParseAddrPort(text); err == nil {
		return plain(port.Addr()), true
	}
	if len(text) > 2 && text[0] == '[' && text[len(text)-1] == ']' {
		text = text[1 : len(text)-1]
	}
	address, err := netip.ParseAddr(text)
	return plain(address), err == nil
}

// plain returns the canonical form of an address.
func plain(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

func contains(prefixes []netip.Prefix, a netip.Addr) bool {
	for _, p := range prefixes {
		if p.Contains(a) || p.Addr().Is4In6() && plainPrefix(p).Contains(a) {
			return true
		}
	}
	return false
}

// plainPrefix returns an IPv4-mapped prefix as IPv4. A prefix wider than all IPv4 addresses is
// invalid then, and contains none.
func plainPrefix(p netip.Prefix) netip.Prefix {
	const mapped = 96 // bits of ::ffff:0:0/96
	return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-mapped)
}

// AddressKey returns the key by which requests of an address are counted: an IPv4 address
// unchanged, of an IPv6 address the network 2001:db8::/64, [NoKey] for the zero Addr. Every
// spelling of an address has the same key.
func AddressKey(a netip.Addr) string {
	switch a = plain(a); {
	case !a.IsValid():
		return NoKey
	case a.Is4():
		return a.String()
	}
	// the prefix of an IPv6 address of a client, which can use any address inside.
	network, _ := a.Prefix(64) // no error: an IPv6 address has 64 bits
	return network.String()
}
