package moments

import (
	"cmp"
	"slices"
)

const (
	// Parts is how many bins a counting period has.
	Parts = 512
	// MaxLumps is the most lumps of a list from Coarse.
	MaxLumps = 1<<fineBits + (10-fineBits)<<(fineBits-1)
	// fineBits is the logarithm of the age, in bins, from which lumps are told in coarser bins.
	// Ages have ten bits at most.
	fineBits = 4
)

// Bin is the number of a 512th of a counting period since 1970, by the wall clock.
type Bin int64

// Lump is cost admitted in a bin or later.
type Lump struct {
	Bin   Bin
	Units int64 // cost, above 0
}

// List holds lumps, newest first, each bin once. Nobody changes a list: whoever needs another makes
// a copy.
type List []Lump

// After returns how much of the cost in l came in b or later, at least.
func (l List) After(b Bin) (sum int64) {
	for n := 0; n < len(l) && l[n].Bin >= b; n++ {
		sum += l[n].Units
	}
	return sum
}

// Sum returns a list of the admissions in all lists, no two about the same admissions.
func Sum(lists ...List) List {
	all := slices.Concat(lists...)
	slices.SortFunc(all, func(a, b Lump) int { return cmp.Compare(b.Bin, a.Bin) })
	var out List
	for _, lump := range all {
		out = out.join(lump)
	}
	return out
}

// join appends a lump not newer than l's last.
func (l List) join(lump Lump) List {
	if n := len(l); n > 0 && l[n-1].Bin <= lump.Bin {
		l[n-1].Units += lump.Units
		return l
	}
	return append(l, lump)
}

// Less returns l without the lumps of part, which are in the sum l, in the same bins.
func (l List) Less(part List) (out List) {
	for _, lump := range l {
		for len(part) > 0 && part[0].Bin > lump.Bin {
			part = part[1:]
		}
		if len(part) > 0 && part[0].Bin == lump.Bin {
			lump.Units -= part[0].Units
		}
		if lump.Units > 0 {
			out = append(out, lump)
		}
	}
	return out
}

// Lesser returns the list saying of every bin what the weaker of a and b says.
func Lesser(a, b List) List { return both(a, b, func(a, b int64) int64 { return min(a, b) }) }

// Greater returns the list saying of every bin what the stronger of a and b says. Both are about
// the same admissions.
func Greater(a, b List) List { return both(a, b, func(a, b int64) int64 { return max(a, b) }) }

// both returns the list saying of every bin what of makes of what a and b say.
func both(a, b List, of func(a, b int64) int64) (out List) {
	var sumA, sumB, said int64
	for len(a) > 0 || len(b) > 0 {
		at := newest(a, b)
		sumA, a = take(sumA, a, at)
		sumB, b = take(sumB, b, at)
		out, said = out.upTo(at, of(sumA, sumB), said)
	}
	return out
}

// newest returns the newest bin of a and b, at least 1 with some.
func newest(a, b List) Bin {
	switch {
	case len(a) == 0:
		return b[0].Bin
	case len(b) == 0:
		return a[0].Bin
	}
	return max(a[0].Bin, b[0].Bin)
}

// take adds the lumps of l from b on to sum, and returns the rest of l.
func take(sum int64, l List, b Bin) (more int64, rest List) {
	for len(l) > 0 && l[0].Bin >= b {
		sum, l = sum+l[0].Units, l[1:]
	}
	return sum, l
}

// upTo appends a lump at b, so l says sum of it after said.
func (l List) upTo(b Bin, sum, said int64) (List, int64) {
	if sum <= said {
		return l, said
	}
	return append(l, Lump{b, sum - said}), sum
}
