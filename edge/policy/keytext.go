package policy

import (
	"encoding/binary"
	"net/netip"
	"strconv"
)

// appendPrefix appends the network of so many bits, of IPv4 or IPv6, that a is in. All bits are the
// address itself. netip's own way is right for all; the two cases that nearly all requests are have
// faster code beside, held to the same text by a test.
func appendPrefix(dst []byte, a netip.Addr, bits4, bits6 int) []byte {
	bits := bits6
	if a.Is4() {
		bits = bits4
	}
	switch {
	case a.Is4() && bits == 32:
		return appendIPv4(dst, a)
	case bits == a.BitLen():
		return a.AppendTo(dst)
	case bits <= 64 && !a.Is4():
		return appendUpper(dst, a, bits)
	}
	p, _ := a.Prefix(bits) // bits are in range
	return p.AppendTo(dst)
}

// appendIPv4 is netip's text of an IPv4 address, in half the time. All four octets are written in a
// row with dots; the last dot is left out.
func appendIPv4(dst []byte, a netip.Addr) []byte {
	var text [len("255.255.255.255.")]byte
	n := 0
	for _, octet := range a.As4() {
		binary.LittleEndian.PutUint32(text[n:n+4], octetTexts[octet].text) // n is at most 12
		n += int(octetTexts[octet].length)
	}
	return append(dst, text[:n-1]...)
}

// octetTexts are the numbers from 0 to 255 as in an IPv4 address, each with a point behind.
var octetTexts = func() (all [256]struct{ text, length uint32 }) {
	for i := range all {
		var text [4]byte
		// 2 to 4
		all[i].length = uint32(len(append(strconv.AppendInt(text[:0], int64(i), 10), '.')))
		all[i].text = binary.LittleEndian.Uint32(text[:])
	}
	return all
}()

// appendUpper is netip's text of the IPv6 network of at most 64 bits a is in, in a third of the
// time: the lower half is zero, so the longest run of zeros is at the end. 2001:db8:0:5::/64, for
// instance. A zero among the groups stays a 0: "::" is for the longest run, which is the lower
// half's.
func appendUpper(dst []byte, a netip.Addr, bits int) []byte {
	octets := a.As16()
	upper := binary.BigEndian.Uint64(octets[:8]) &^ (1<<(64-bits) - 1)
	var text [len("ffff:ffff:ffff:ffff::/64")]byte
	n := 0
	if upper == 0 {
		text[0], n = ':', 1
	}
	for ; upper != 0; upper <<= 16 {
		n += putGroup(text[n:n+5], uint16(upper>>48))
	}
	n += copy(text[n:], ":/")
	if bits >= 10 {
		text[n] = byte('0' + bits/10)
		n++
	}
	text[n] = byte('0' + bits%10)
	return append(dst, text[:n+1]...)
}

const lowerHex = "0123456789abcdef"

// putGroup writes a group of an address and a colon into b, of 5 bytes, and returns the number of
// bytes.
func putGroup(b []byte, group uint16) int {
	_ = b[4]
	n := 0
	switch {
	case group >= 0x1000:
		b[n] = lowerHex[group>>12]
		n++
		fallthrough
	case group >= 0x100:
		b[n] = lowerHex[group>>8&15]
		n++
		fallthrough
	case group >= 0x10:
		b[n] = lowerHex[group>>4&15]
		n++
	}
	b[n], b[n+1] = lowerHex[group&15], ':'
	return n + 2
}
