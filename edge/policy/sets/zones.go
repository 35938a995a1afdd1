package sets

import (
	"cmp"
	"encoding/binary"
	"net/netip"
)

// wide is an IPv6 address as a number.
// netip.Addr compares by more than its number, and takes 24 bytes.
type wide struct{ high, low uint64 }

func (a wide) less(b wide) bool { return a.high < b.high || a.high == b.high && a.low < b.low }

func compareWide(a, b wide) int {
	return cmp.Or(cmp.Compare(a.high, b.high), cmp.Compare(a.low, b.low))
}

// next returns the number after a; ok is false after the last.
func (a wide) next() (wide, bool) {
	a.low++
	if a.low == 0 {
		a.high++
	}
	return a, a != wide{}
}

// before returns the number before a; before 0 comes the last.
func (a wide) before() wide {
	if a.low == 0 {
		a.high--
	}
	a.low--
	return a
}

func number4(a netip.Addr) uint32 {
	octets := a.As4()
	return binary.BigEndian.Uint32(octets[:])
}

func number6(a netip.Addr) wide {
	octets := a.As16()
	return wide{binary.BigEndian.Uint64(octets[:8]), binary.BigEndian.Uint64(octets[8:])}
}

// bounds returns the first and the last number of a network, IPv4 in low.
func bounds(p netip.Prefix) (first, last wide) {
	if p.Addr().Is4() {
		n := uint64(number4(p.Masked().Addr()))
		return wide{0, n}, wide{0, n | (1<<(32-p.Bits()) - 1)}
	}
	first, last = number6(p.Masked().Addr()), number6(p.Masked().Addr())
	if bits := p.Bits(); bits <= 64 {
		last.low = ^uint64(0)
		last.high |= 1<<(64-bits) - 1
	} else {
		last.low |= 1<<(128-bits) - 1
	}
	return first, last
}

// Zones divides the addresses of each family into ranges, and gives each a number: 0 is the number
// of an address no network holds. 6 bytes a range of IPv4 and 18 of IPv6, in two arrays each: the
// search touches the starts only.
type Zones struct {
	starts4 []uint32 // ascending
	of4     []uint16
	starts6 []wide
	of6     []uint16
}

// Find returns the number of a.
func (z *Zones) Find(a netip.Addr) uint16 {
	if a.Is4() {
		return z.find4(number4(a))
	}
	return z.find6(number6(a))
}

// Written out, since sort.Search calls a function for each step.
func (z *Zones) find4(n uint32) uint16 {
	low, high := 0, len(z.starts4)
	for low < high {
		if middle := int(uint(low+high) >> 1); z.starts4[middle] <= n {
			low = middle + 1
		} else {
			high = middle
		}
	}
	// Before the first network nothing holds.
	if low == 0 {
		return 0
	}
	return z.of4[low-1]
}

func (z *Zones) find6(n wide) uint16 {
	low, high := 0, len(z.starts6)
	for low < high {
		if middle := int(uint(low+high) >> 1); !n.less(z.starts6[middle]) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low == 0 {
		return 0
	}
	return z.of6[low-1]
}

// Bytes returns the memory that z takes.
func (z *Zones) Bytes() int64 {
	return int64(len(z.starts4))*6 + int64(len(z.starts6))*18
}
