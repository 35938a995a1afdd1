package head

import "bytes"

// IsPlainHost reports whether host is a name or an IPv4 address, with a port or without.
func IsPlainHost(host []byte) bool {
	name, port, ported := bytes.Cut(host, []byte{':'})
	for _, c := range name {
		if !hostBytes[c] {
			return false
		}
	}
	for _, c := range port {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(name) > 0 && ported == (len(port) > 0) && len(port) <= len("65535")
}

// hostBytes are the bytes of names and IPv4 addresses.
var hostBytes = SetOf(func(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || c == '.' ||
		c == '-' || c == '_'
})
