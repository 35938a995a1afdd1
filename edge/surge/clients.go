package surge

import (
	"cmp"
	"maps"
	"slices"
)

// ofFew reports whether a few clients make more than half of the requests with conditions.
func (l *look) ofFew(conditions []Condition) bool {
	of, n := map[row16]int{}, 0
	for _, r := range l.all {
		if r.has(conditions) {
			of[r.client]++
			n++
		}
	}
	sizes := slices.Sorted(maps.Values(of))
	few := 0
	for _, size := range sizes[max(0, len(sizes)-maxFew):] {
		few += size
	}
	return few*2 > n
}

// few returns the clients making at least half of the rise, at most most;
// none: more clients do.
func (l *look) few(most int, minRate float64) (clients []row16, rate float64) {
	for c := range l.clients {
		clients = append(clients, c)
	}
	slices.SortFunc(clients, func(a, b row16) int {
		return cmp.Or(cmp.Compare(l.clients[b], l.clients[a]), slices.Compare(a[:], b[:]))
	})
	clients = clients[:min(most, len(clients))]
	for _, r := range l.all {
		if slices.Contains(clients, r.client) {
			rate += float64(r.weight) / (l.span / 1e9)
		}
	}
	rise := rateOf(l.all, l.span) - l.usual
	if rise < max(minRate, leastRise*l.usual) || rate < max(minRate, rise/2) {
		return nil, 0
	}
	return clients, rate
}
