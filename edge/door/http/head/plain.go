package head

import "bytes"

// Plain reports whether the head asks for nothing but an answer: there is no body, the connection
// stays, and the Host is one that no reader of URIs can object to.
func (h *Head) Plain() bool {
	if h.Length != 0 || h.Measured || h.Close || h.KeepAlive || h.Expect || h.Waits ||
		h.Page || !h.HTTP11 {
		return false
	}
	return isPlainHost(h.Host())
}

// isPlainHost reports whether host is a name or an IPv4 address, with a port or without.
func isPlainHost(host []byte) bool {
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
