package lease

// enter puts the lease at place at into the heap. A binary heap of places: 2 bytes an entry, and
// each record knows its entry, so a lease released early leaves without a search.
func (t *Table) enter(at uint16) {
	t.heap = append(t.heap, at)
	t.up(len(t.heap) - 1)
}

// leave takes the lease at place at out of the heap. The last entry takes the free place, and then
// moves up or down as needed.
func (t *Table) leave(at uint16) {
	n, last := int(t.records[at].heaped), len(t.heap)-1
	moved := t.heap[last]
	t.heap = t.heap[:last]
	if n == last {
		return
	}
	t.set(n, moved)
	t.down(n)
	t.up(int(t.records[moved].heaped))
}

func (t *Table) set(n int, at uint16) {
	t.heap[n] = at
	t.records[at].heaped = uint16(n) // below Max
}

func (t *Table) ends(n int) int64 { return int64(t.records[t.heap[n]].until) }

// up moves the lease at place n of the heap to the right place, towards the first. The moving entry
// is put down once, at the end.
func (t *Table) up(n int) {
	at := t.heap[n]
	until := int64(t.records[at].until)
	for n > 0 && t.ends((n-1)/2) > until {
		t.set(n, t.heap[(n-1)/2])
		n = (n - 1) / 2
	}
	t.set(n, at)
}

// down moves the lease at place n of the heap to the right place, towards the last.
func (t *Table) down(n int) {
	at := t.heap[n]
	until := int64(t.records[at].until)
	for {
		kid := 2*n + 1
		if kid >= len(t.heap) {
			break
		}
		if kid+1 < len(t.heap) && t.ends(kid+1) < t.ends(kid) {
			kid++
		}
		if t.ends(kid) >= until {
			break
		}
		t.set(n, t.heap[kid])
		n = kid
	}
	t.set(n, at)
}
