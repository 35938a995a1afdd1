package request

import (
	"bytes"
	"encoding/binary"
	"net/netip"
)

// maxAddress is the longest address with brackets, zone and port read, in bytes. The longest text
// of an address has 45 bytes; a zone may be as long as an interface's name.
const maxAddress = 128

// ParseAddress reads an IP address, with or without a port: 192.0.2.1, 192.0.2.1:80, 2001:db8::1,
// [2001:db8::1], [2001:db8::1]:80. A zone is left out, and an IPv4-mapped address is IPv4. It
// allocates nothing. X-Forwarded-For may hold these, from proxies of all kinds: some add the port,
// some the brackets.
func ParseAddress(text []byte) (netip.Addr, bool) {
	if len(text) == 0 || len(text) > maxAddress {
		return netip.Addr{}, false
	}
	// Brackets are for IPv6 alone, and only with them a port can follow it (RFC 3986, 3.2.2).
	if text[0] == '[' {
		end := bytes.IndexByte(text, ']')
		if end < 0 || !isPort(text[end+1:]) {
			return netip.Addr{}, false
		}
		return parse6(text[1:end])
	}
	if a, ok := addr4(text); ok { // nearly all are
		return a, true
	}
	switch colon := bytes.IndexByte(text, ':'); {
	case colon < 0:
		return netip.Addr{}, false
	// a single colon: a port
	case bytes.LastIndexByte(text, ':') == colon && bytes.IndexByte(text, '.') >= 0:
		if !isPort(text[colon:]) {
			return netip.Addr{}, false
		}
		return addr4(text[:colon])
	}
	return parse6(text)
}

// isPort reports whether text is empty or a colon and a port.
// "80" and ":80" differ: the colon belongs to it here. Numbers are up to 65,535.
func isPort(text []byte) bool {
	if len(text) == 0 {
		return true
	}
	_, ok := decimal(text[1:], 1<<16-1)
	return ok && text[0] == ':'
}

func addr4(text []byte) (netip.Addr, bool) {
	n, ok := parse4(text)
	if !ok {
		return netip.Addr{}, false
	}
	var octets [4]byte
	binary.BigEndian.PutUint32(octets[:], n)
	return netip.AddrFrom4(octets), true
}

// parse4 reads a dotted address: four numbers up to 255, without leading zeros.
// With leading zeros some readers take a number for octal, so 010.0.0.1 would be two different
// addresses to two programs.
func parse4(text []byte) (n uint32, ok bool) {
	for octets := 1; ; octets++ {
		// A byte below '0' wraps to a large number, so a single comparison is both.
		if len(text) == 0 || text[0]-'0' > 9 {
			return 0, false
		}
		octet, size := uint32(text[0]-'0'), 1
		for size < len(text) && text[size]-'0' <= 9 {
			if octet == 0 || size == 3 {
				return 0, false
			}
			octet = octet*10 + uint32(text[size]-'0')
			size++
		}
		if octet > 255 {
			return 0, false
		}
		n, text = n<<8|octet, text[size:]
		if octets == 4 {
			return n, len(text) == 0
		}
		if len(text) == 0 || text[0] != '.' {
			return 0, false
		}
		text = text[1:]
	}
}

// parse6 reads an IPv6 address with or without a zone.
// RFC 4291, 2.2. The zone names an interface of the host that wrote it, and nothing elsewhere.
func parse6(text []byte) (netip.Addr, bool) {
	if zone := bytes.IndexByte(text, '%'); zone >= 0 {
		if zone == len(text)-1 {
			return netip.Addr{}, false
		}
		text = text[:zone]
	}
	var octets [16]byte
	n, gap, ok := fill6(&octets, text)
	// "::" stands for a group of zeros or more, so with it fewer than 16 bytes are written, and
	// without it all.
	if !ok || (gap < 0) != (n == 16) {
		return netip.Addr{}, false
	}
	if gap >= 0 { // move the groups behind "::" to the end
		tail := n - gap
		copy(octets[16-tail:], octets[gap:n])
		clear(octets[gap : 16-tail])
	}
	return netip.AddrFrom16(octets).Unmap(), true
}

// fill6 reads the groups of text into octets: n of them, with "::" after gap of them or -1.
func fill6(octets *[16]byte, text []byte) (n, gap int, ok bool) {
	gap = -1
	if bytes.HasPrefix(text, []byte("::")) {
		gap, text = 0, text[2:]
		if len(text) == 0 {
			return 0, 0, true
		}
	}
	for n < 16 {
		group, size := hexGroup(text)
		if size < len(text) && text[size] == '.' { // the last four octets may be written as IPv4
			v4, ok := parse4(text)
			if !ok || n > 12 {
				return n, gap, false
			}
			binary.BigEndian.PutUint32(octets[n:], v4)
			return n + 4, gap, true
		}
		if size == 0 {
			return n, gap, false
		}
		binary.BigEndian.PutUint16(octets[n:], group)
		n += 2
		if text = text[size:]; len(text) == 0 {
			return n, gap, true
		}
		if text[0] != ':' || len(text) == 1 {
			return n, gap, false
		}
		if text = text[1:]; text[0] == ':' {
			if gap >= 0 {
				return n, gap, false
			}
			gap = n
			if text = text[1:]; len(text) == 0 {
				return n, gap, true
			}
		}
	}
	return n, gap, false
}

// hexGroup returns the hexadecimal number of at most four digits that text begins with, and how
// many there are; 0 where there are none or too many.
func hexGroup(text []byte) (n uint16, size int) {
	for size < len(text) {
		digit := fromHex(text[size])
		if digit < 0 {
			break
		}
		if size == 4 {
			return 0, 0
		}
		n = n<<4 | uint16(digit) // 0..15
		size++
	}
	return n, size
}
