package gate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/sketch"
)

// numbersOf returns the numbers of r's keys as a counter has them.
func numbersOf(r *mitigation.Rule) (all []mitigation.Number) {
	if r.Numbers == nil {
		return nil
	}
	for place := range r.Numbers.List {
		under := r.Under(place)
		all = append(all, mitigation.Number{Limit: under.Limit, Burst: under.Burst})
	}
	slices.SortFunc(all, mitigation.Number.Compare)
	return slices.Compact(all) // a burst may be written out and be the rule's own
}

// setNumbers makes r under each of its numbers: the rule by another limit, with the tallies, the
// flags and the counts of r.
func (r *rule) setNumbers() {
	if r.Numbers == nil {
		return
	}
	r.numbers = make([]*rule, len(r.Numbers.List))
	all := make([]rule, len(r.numbers))
	for place := range r.numbers {
		in := &all[place]
		*in = *r
		in.Rule, in.numbers = r.Under(place), nil
		in.fill = in.Fill()
		in.meter = r.meter.Numbered(mitigation.Number{Limit: in.Limit, Burst: in.Burst})
		r.numbers[place] = in
	}
}

// under returns r, which has numbers, for the key of a.
func (r *rule) under(a *Ask) *rule {
	if a.Numbers != r.Numbers { // of another reload, or not known
		return r.of(a.Key)
	}
	if a.Place < 0 {
		return r
	}
	return r.numbers[a.Place]
}

// sourceOf names where the limit of in is from, which is r for the key with index i.
func (r *rule) sourceOf(in *rule, i sketch.Index) string {
	if in != r {
		return "table:" + r.Numbers.Set
	}
	if r.Numbers != nil && r.Numbers.Find == nil {
		if _, counted := r.meter.Suspect(i); !counted {
			return "unknown" // a policy says, by a field of the request
		}
	}
	if _, tier, ok := strings.Cut(r.Name, "@"); ok {
		return "tier:" + tier
	}
	return "rule"
}

// of returns r for key: by the number r finds, or by the number of the last judgement.
func (r *rule) of(key []byte) *rule {
	if r == nil || r.Numbers == nil {
		return r
	}
	if r.Numbers.Find != nil {
		if at := r.Numbers.Find(key); at >= 0 {
			return r.numbers[at]
		}
		return r
	}
	n, _ := r.meter.NumberOf(r.meter.Index(key))
	return r.numbered(n, r)
}

// numbered returns r for keys with the number n, or else.
func (r *rule) numbered(n mitigation.Number, otherwise *rule) *rule {
	if r != nil && n.Limit > 0 {
		at, _ := slices.BinarySearchFunc(r.numbers, n.Limit,
			func(in *rule, limit int64) int { return cmp.Compare(in.Limit, limit) })
		for ; at < len(r.numbers) && r.numbers[at].Limit == n.Limit; at++ {
			if in := r.numbers[at]; in.meter.Is(n) {
				return in
			}
		}
	}
	return otherwise
}
