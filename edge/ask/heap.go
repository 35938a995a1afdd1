package ask

// leave takes the record whose first place is at out of the heap: the last entry takes the place,
// and moves up or down.
func (t *ticketStore) leave(at uint16) {
	n, last := int(t.places[at].heaped), len(t.heap)-1
	moved := t.heap[last]
	t.heap = t.heap[:last]
	if n == last {
		return
	}
	t.set(n, moved)
	t.down(n)
	t.up(int(t.places[moved].heaped))
}

// set puts the record whose first place is at into entry n.
func (t *ticketStore) set(n int, at uint16) {
	t.heap[n], t.places[at].heaped = at, uint16(n) // below mostTickets
}

// earlier reports whether entry n ends before entry o.
func (t *ticketStore) earlier(n, o int) bool {
	return t.places[t.heap[n]].until < t.places[t.heap[o]].until
}

// up moves entry n towards the first, to the right place.
func (t *ticketStore) up(n int) {
	for t.set(n, t.heap[n]); n > 0 && t.earlier(n, (n-1)/2); n = (n - 1) / 2 {
		t.swap(n, (n-1)/2)
	}
}

// down moves entry n towards the last, to the right place.
func (t *ticketStore) down(n int) {
	for {
		kid := 2*n + 1
		if kid >= len(t.heap) {
			return
		}
		if kid+1 < len(t.heap) && t.earlier(kid+1, kid) {
			kid++
		}
		if !t.earlier(kid, n) {
			return
		}
		t.swap(n, kid)
		n = kid
	}
}

// swap exchanges two entries.
func (t *ticketStore) swap(n, o int) {
	a, b := t.heap[n], t.heap[o]
	t.set(n, b)
	t.set(o, a)
}
