package sets

import (
	"net/netip"
	"slices"
)

// Ranges collects networks for a set of addresses. The zero Ranges is empty.
// 8 bytes a network of IPv4 and 32 of IPv6, since a file may hold a million.
type Ranges struct {
	four []uint64 // the first address in the high half, the last in the low one
	six  []span
}

// span is the first and the last address of a network of IPv6.
type span struct{ first, last wide }

// lastOf4 masks the last address of a range of IPv4, and is the last of all.
const lastOf4 = 1<<32 - 1

// Grow makes room for n networks of IPv4.
func (r *Ranges) Grow(n int) { r.four = slices.Grow(r.four, n) }

// Add adds the addresses of net.
func (r *Ranges) Add(net netip.Prefix) {
	first, last := bounds(net)
	if net.Addr().Is4() {
		r.four = append(r.four, first.low<<32|last.low)
		return
	}
	r.six = append(r.six, span{first, last})
}

// AddSet adds the addresses of s, which holds addresses.
func (r *Ranges) AddSet(s *Set) {
	z := s.nets
	for i, of := range z.of4 {
		last := uint64(lastOf4)
		if i+1 < len(z.of4) {
			last = uint64(z.starts4[i+1]) - 1
		}
		if of != 0 {
			r.four = append(r.four, uint64(z.starts4[i])<<32|last)
		}
	}
	for i, of := range z.of6 {
		last := wide{^uint64(0), ^uint64(0)}
		if i+1 < len(z.of6) {
			last = z.starts6[i+1].before()
		}
		if of != 0 {
			r.six = append(r.six, span{z.starts6[i], last})
		}
	}
}

// Set returns the set of all that was added. It reorders r, which is of no use afterwards.
func (r *Ranges) Set() *Set {
	z := new(Zones)
	four := r.join4()
	z.starts4, z.of4 = make([]uint32, 0, 2*len(four)), make([]uint16, 0, 2*len(four))
	for _, s := range four {
		z.starts4, z.of4 = append(z.starts4, uint32(s>>32)), append(z.of4, 1) // the high half
		if last := s & lastOf4; last != lastOf4 {
			z.starts4, z.of4 = append(z.starts4, uint32(last)+1), append(z.of4, 0) // below 1<<32
		}
	}
	six := r.join6()
	z.starts6, z.of6 = make([]wide, 0, 2*len(six)), make([]uint16, 0, 2*len(six))
	for _, s := range six {
		z.starts6, z.of6 = append(z.starts6, s.first), append(z.of6, 1)
		if after, ok := s.last.next(); ok {
			z.starts6, z.of6 = append(z.starts6, after), append(z.of6, 0)
		}
	}
	return &Set{nets: z}
}

// join4 returns the ranges of IPv4 in order, those with overlaps and neighbours joined.
func (r *Ranges) join4() []uint64 {
	slices.Sort(r.four)
	joined := r.four[:0]
	for _, s := range r.four {
		if n := len(joined) - 1; n >= 0 && s>>32 <= joined[n]&lastOf4+1 {
			joined[n] = joined[n]&^lastOf4 | max(joined[n]&lastOf4, s&lastOf4)
		} else {
			joined = append(joined, s)
		}
	}
	return joined
}

// join6 is join4 for IPv6.
func (r *Ranges) join6() []span {
	slices.SortFunc(r.six, func(a, b span) int { return compareWide(a.first, b.first) })
	joined := r.six[:0]
	for _, s := range r.six {
		n := len(joined) - 1
		if n < 0 || joined[n].last.less(s.first) && joined[n].last != s.first.before() {
			joined = append(joined, s)
		} else if joined[n].last.less(s.last) {
			joined[n].last = s.last
		}
	}
	return joined
}
