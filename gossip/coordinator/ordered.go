package coordinator

import "math/rand/v2"

// ordered is a map with an iteration order that depends only on the calls before. A plain map's
// order would make every run of a simulation another one. The zero ordered is empty.
type ordered[K comparable, V any] struct {
	place map[K]int
	// all holds the items as they came; the last one takes the place of one that is dropped.
	all []entry[K, V]
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

func (o *ordered[K, V]) len() int { return len(o.all) }

// get returns the value of key, and whether there is one.
func (o *ordered[K, V]) get(key K) (value V, ok bool) {
	at, ok := o.place[key]
	if ok {
		value = o.all[at].value
	}
	return value, ok
}

// put sets the value of key.
func (o *ordered[K, V]) put(key K, value V) {
	if at, ok := o.place[key]; ok {
		o.all[at].value = value
		return
	}
	if o.place == nil {
		o.place = make(map[K]int)
	}
	o.place[key] = len(o.all)
	o.all = append(o.all, entry[K, V]{key, value})
}

// drop removes key.
func (o *ordered[K, V]) drop(key K) {
	at, ok := o.place[key]
	if !ok {
		return
	}
	last := len(o.all) - 1
	o.all[at] = o.all[last]
	o.place[o.all[at].key] = at
	o.all[last] = entry[K, V]{}
	o.all = o.all[:last]
	delete(o.place, key)
}

// visit calls look with every item, from a random start: the first ones may use up the budget.
// Items for which look returns false are dropped at the end. look must not put or drop.
func (o *ordered[K, V]) visit(dice *rand.Rand, look func(key K, value V) (keep bool)) {
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
		o.drop(key)
	}
}
