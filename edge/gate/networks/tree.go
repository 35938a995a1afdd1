package networks

import (
	"cmp"
	"net/netip"
	"slices"
	"sort"
)

// Entry is a network and its value.
type Entry[V any] struct {
	Prefix netip.Prefix // masked, and IPv4 not mapped into IPv6
	Value  V
}

// Table finds the smallest of many networks holding an address or a smaller network. It is a prefix
// tree in a sorted slice: each entry knows the next larger holder. It never changes, so any number
// of goroutines may read it. The zero Table holds no network.
type Table[V any] struct {
	entries []entry[V] // by address, then by length
}

type entry[V any] struct {
	Entry[V]
	holder int // the smallest larger network holding it; -1: none
}

// NewTable returns a table of all; of equal prefixes the last counts. It keeps no reference to all.
func NewTable[V any](all []Entry[V]) *Table[V] {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b Entry[V]) int { return compare(a.Prefix, b.Prefix) })
	t := &Table[V]{entries: make([]entry[V], 0, len(all))}
	for _, e := range sorted {
		if n := len(t.entries); n > 0 && t.entries[n-1].Prefix == e.Prefix {
			t.entries[n-1].Value = e.Value
			continue
		}
		t.entries = append(t.entries, entry[V]{e, t.holderOf(len(t.entries)-1, e.Prefix)})
	}
	return t
}

// compare orders prefixes by address, larger networks first.
func compare(a, b netip.Prefix) int {
	return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
}

// holderOf returns the first of entry i, its holder, and so on, that holds p; else -1.
func (t *Table[V]) holderOf(i int, p netip.Prefix) int {
	for i >= 0 && !holds(t.entries[i].Prefix, p) {
		i = t.entries[i].holder
	}
	return i
}

// holds reports whether all of p lies in n.
func holds(n, p netip.Prefix) bool { return n.Bits() <= p.Bits() && n.Contains(p.Addr()) }

// Len returns the number of networks.
func (t *Table[V]) Len() int { return len(t.entries) }

// Find calls use with the networks holding all of p, the smallest first, until use returns true. It
// reports whether any did.
//
// The entry before which p would stand lies in every network holding p: the larger are found from
// there. It takes a binary search and as many steps as networks lie nested.
func (t *Table[V]) Find(p netip.Prefix, use func(v *V) bool) bool {
	i := sort.Search(len(t.entries),
		func(i int) bool { return compare(t.entries[i].Prefix, p) > 0 }) - 1
	for i = t.holderOf(i, p); i >= 0; i = t.holderOf(t.entries[i].holder, p) {
		if use(&t.entries[i].Value) {
			return true
		}
	}
	return false
}
