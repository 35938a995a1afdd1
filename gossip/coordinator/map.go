package coordinator

import (
	"iter"
	"math/rand/v2"
	"slices"
)

// The coordinator's keys are held in an order a simulation can repeat. Go's own maps
// iterate at random, so two runs with the same seed would send different bytes.
//
//	orderedMap  items by key, visited from a random start: few items, all of them at once
//	roundRobin  items in ten parts, one part per round: many items, a tenth of them at a time,
//	            and a part of those that wait
//
// The start of a visit is random because the first items may use up the budget of bytes. The dice
// are an argument, seeded by the caller.
//
// Neither type is safe for concurrent use.

// orderedMap is a map with an iteration order depending only on the calls before. Every operation
// but Visit and All takes constant time. The zero Map is empty and ready for use.
type orderedMap[K comparable, V any] struct {
	place map[K]int // nil: of few items, each is looked at
	// all holds the items in order of arrival; the last takes the place of a dropped item.
	all []entry[K, V]
}

// few is the most items that are looked through: a map of them takes more memory than the items.
const few = 8

type entry[K comparable, V any] struct {
	key   K
	value V
}

// Len returns the number of items.
func (o *orderedMap[K, V]) Len() int { return len(o.all) }

// Get returns the value of key, and whether present.
func (o *orderedMap[K, V]) Get(key K) (value V, ok bool) {
	at, ok := o.at(key)
	if ok {
		value = o.all[at].value
	}
	return value, ok
}

// at returns the place of key, and whether present.
func (o *orderedMap[K, V]) at(key K) (at int, ok bool) {
	if o.place == nil {
		at = slices.IndexFunc(o.all, func(e entry[K, V]) bool { return e.key == key })
		return at, at >= 0
	}
	at, ok = o.place[key]
	return at, ok
}

// Put sets the value of key.
func (o *orderedMap[K, V]) Put(key K, value V) {
	if at, ok := o.at(key); ok {
		o.all[at].value = value
		return
	}
	if o.place != nil {
		o.place[key] = len(o.all)
	}
	if o.all = append(o.all, entry[K, V]{key, value}); o.place == nil && len(o.all) > few {
		o.place = make(map[K]int)
		for n := range o.all {
			o.place[o.all[n].key] = n
		}
	}
}

// All yields every item in the order of storage: of insertion, but the last item takes the place of
// a dropped item. The loop must not put or drop.
func (o *orderedMap[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for n := range o.all {
			if !yield(o.all[n].key, o.all[n].value) {
				return
			}
		}
	}
}

// Drop removes key, if present.
func (o *orderedMap[K, V]) Drop(key K) {
	at, ok := o.at(key)
	if !ok {
		return
	}
	last := len(o.all) - 1
	if o.all[at] = o.all[last]; o.place != nil {
		o.place[o.all[at].key] = at
	}
	o.all[last] = entry[K, V]{}
	o.all = o.all[:last]
	delete(o.place, key)
}

// Visit calls look with every item, from a random start: the first may use up the budget. Items for
// which look returns false are dropped at the end. look must not put or drop.
func (o *orderedMap[K, V]) Visit(dice *rand.Rand, look func(key K, value V) (keep bool)) {
	if len(o.all) == 0 {
		return
	}
	var gone []K
	at := 0
	if len(o.all) > 1 {
		at = dice.IntN(len(o.all))
	}
	for range o.all {
		if v := &o.all[at]; !look(v.key, v.value) {
			gone = append(gone, v.key)
		}
		if at++; at == len(o.all) {
			at = 0
		}
	}
	for _, key := range gone {
		o.Drop(key)
	}
}
