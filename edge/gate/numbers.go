package gate

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/override"
	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
)

// numbersOf returns the numbers of r's keys, by hand and by the table, as a counter has them.
func numbersOf(r *mitigation.Rule, byHand []override.Override) (all []mitigation.Number) {
	add := func(n mitigation.Number) {
		with := r.With(n)
		all = append(all, mitigation.Number{Limit: with.Limit, Burst: with.Burst})
	}
	for i := range byHand {
		add(byHand[i].Number)
	}
	if r.Numbers != nil {
		for _, n := range r.Numbers.List {
			add(n)
		}
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
	r.numbers = make([]rule, len(r.Numbers.List))
	for place, n := range r.Numbers.List {
		r.numbers[place] = r.with(n)
	}
}

// with returns r under the number n: the tallies, the flags and the counts are those of r.
func (r *rule) with(n mitigation.Number) rule {
	in := *r
	in.Rule, in.numbers, in.limits = r.With(n), nil, nil
	in.fill, in.far = in.Fill(), fmt.Sprintf("%s#%d/%d", r.far, n.Limit, n.Burst)
	in.meter = r.meter.Numbered(mitigation.Number{Limit: in.Limit, Burst: in.Burst})
	return in
}

// nearName returns the rule and the number of a name between PoPs, NAME#LIMIT/BURST; 0: none.
func nearName(far string) (name string, n mitigation.Number) {
	name, number, _ := strings.Cut(far, "#")
	limit, burst, _ := strings.Cut(number, "/")
	n.Limit, _ = strconv.ParseInt(limit, 10, 64)
	n.Burst, _ = strconv.ParseInt(burst, 10, 64)
	return name, n
}

// under returns r for the key of a.
func (r *rule) under(now window.Instant, a *Ask) *rule {
	if r.keyed { // inlined
		return r.underOwn(now, a)
	}
	return r
}

func (r *rule) underOwn(now window.Instant, a *Ask) *rule {
	if a.Numbers == nil || a.Numbers != r.Numbers { // of another reload, or not known
		return r.of(now, a.Key)
	}
	if is := r.limits.of(now, a.Key); is != nil {
		return &is.rule
	}
	if a.Place < 0 {
		return r.limits.everybody(now, r)
	}
	return &r.numbers[a.Place]
}

// unknown is the source of a limit that a policy finds by a field of the request.
const unknown = "unknown"

// sourceOf names where the limit of in is from, which is r for the key with index i.
func (r *rule) sourceOf(in *rule, i sketch.Index) string {
	if is := r.limits.by(in); is != nil {
		return "override:" + is.who
	}
	if in != r {
		return "table:" + r.Numbers.Set
	}
	if r.Numbers != nil && r.Numbers.Find == nil {
		if _, counted := r.meter.Suspect(i); !counted {
			return unknown
		}
	}
	if _, tier, ok := strings.Cut(r.Name, "@"); ok {
		return "tier:" + tier
	}
	return "rule"
}

// of returns r for key: by the number r finds, or by the number of the last judgement.
func (r *rule) of(now window.Instant, key []byte) *rule {
	if r == nil || !r.keyed {
		return r
	}
	if is := r.limits.of(now, key); is != nil {
		return &is.rule
	}
	otherwise := r.limits.everybody(now, r)
	switch {
	case r.Numbers == nil:
	case r.Numbers.Find == nil:
		n, _ := r.meter.NumberOf(r.meter.Index(key))
		return r.numbered(n, otherwise)
	default:
		if at := r.Numbers.Find(key); at >= 0 {
			return &r.numbers[at]
		}
	}
	return otherwise
}

// numbered returns r for keys with the number n, or else.
func (r *rule) numbered(n mitigation.Number, otherwise *rule) *rule {
	if r != nil && n.Limit > 0 {
		at := sort.Search(len(r.numbers), func(at int) bool {
			return r.numbers[at].Limit >= n.Limit
		})
		for ; at < len(r.numbers) && r.numbers[at].Limit == n.Limit; at++ {
			if r.numbers[at].meter == r.meter.Numbered(n) {
				return &r.numbers[at]
			}
		}
	}
	return otherwise
}
