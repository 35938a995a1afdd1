package networks

import (
	"bytes"
	"net/netip"

	"github.com/headgate-dev/headgate/edge/request"
)

// AddressIn returns the address or the network key is, or that is the first such part of it.
func AddressIn(key []byte) (netip.Prefix, bool) {
	for rest, more := key, true; more; {
		var part []byte
		part, rest, more = bytes.Cut(rest, []byte{partsEnd})
		if p, ok := addressOf(part); ok {
			return p, true
		}
	}
	return netip.Prefix{}, false
}

// partsEnd separates the parts of a key a policy makes of several.
const partsEnd = 0x1f

// addressOf returns the network that text is; of an address all its bits. It allocates nothing.
func addressOf(text []byte) (netip.Prefix, bool) {
	at, length, found := bytes.Cut(text, []byte{'/'})
	a, ok := request.ParseAddress(at)
	if !ok {
		return netip.Prefix{}, false
	}
	bits := a.BitLen()
	if found {
		if bits, ok = prefixLength(length); !ok || bits > a.BitLen() {
			return netip.Prefix{}, false
		}
	}
	return netip.PrefixFrom(a, bits).Masked(), true
}

// prefixLength returns the number that text is, of at most three digits.
func prefixLength(text []byte) (n int, ok bool) {
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, len(text) > 0 && len(text) <= 3
}

// Of returns the text of the network key reads as, in the only form a network has: 10.0.0.0/8 of
// 10.1.2.3/8. It reports false for anything else, such as a path or an address.
func Of(key []byte) ([]byte, bool) {
	p, err := netip.ParsePrefix(string(key))
	if err != nil {
		return nil, false
	}
	return []byte(unmapped(p).String()), true
}

// unmapped returns p without the bits beyond its length, as IPv4 if it is IPv4 in IPv6.
func unmapped(p netip.Prefix) netip.Prefix {
	const prefix = 96 // bits of ::ffff:0:0
	if a := p.Addr(); a.Is4In6() && p.Bits() >= prefix {
		p = netip.PrefixFrom(a.Unmap(), p.Bits()-prefix)
	}
	return p.Masked()
}
