package mitigation

import (
	"cmp"
	"slices"

	"github.com/headgate-dev/headgate/window"
)

// Number is the limit of a key: Limit and Burst of a Rule.
type Number = window.Number

// Numbers are the limits of keys with a number of their own. They never change.
type Numbers struct {
	// Set is the table, as in the configuration.
	Set string
	// List has each number once, ascending. Burst is above 0 for buckets only.
	List []Number
	// Find returns the place in List of the number of key, as the rule counts it; -1: none.
	// nil: a policy does, by a field of the request.
	Find func(key []byte) int
}

// Place returns the place of n in List, or -1.
func (n *Numbers) Place(of Number) int {
	if at, ok := slices.BinarySearchFunc(n.List, of, Number.Compare); ok {
		return at
	}
	return -1
}

// Takes reports whether a key of r can have the number n: a bucket refills by it in time.
func (r *Rule) Takes(n Number) bool {
	with := r.With(n)
	return r.Kind != Bucket || with.Fill() <= MaxFill
}

// With returns r for keys with the number n.
func (r *Rule) With(n Number) Rule {
	with := *r
	if with.Limit, with.Numbers = n.Limit, nil; r.Kind == Bucket {
		with.Burst = cmp.Or(n.Burst, r.Burst)
	}
	return with
}
