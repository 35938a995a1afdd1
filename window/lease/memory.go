package lease

import "github.com/headgate-dev/headgate/sketch"

// takeRecord returns the place of a free record. There is one.
func (t *Table) takeRecord() uint16 {
	if t.free == 0 {
		t.fresh++
		return uint16(t.fresh - 1) // at most Max
	}
	at := uint16(t.free - 1) // a place
	t.free = uint32(t.records[at].newer)
	if t.records[at].older == freeEnd {
		t.free = 0
	} else {
		t.free++
	}
	return at
}

// In a free record, older says whether newer is the next free record.
const (
	freeMore = 0
	freeEnd  = 1
)

// giveRecord frees the record at place at.
// Free records are a list through themselves: there is no other memory.
func (t *Table) giveRecord(at uint16) {
	r := &t.records[at]
	*r = record{older: freeEnd}
	if t.free > 0 {
		r.older, r.newer = freeMore, uint16(t.free-1) // a place
	}
	t.free = uint32(at) + 1
}

// drop frees the lease at place at, out of the heap, and the places. Totals by rule are kept along,
// so a question visits nothing.
func (t *Table) drop(at uint16) {
	r := &t.records[at]
	h, cost := &t.holders[r.holder], r.cost()
	s := &t.rules[h.rule]
	s.places -= uint64(cost)
	s.leases--
	h.places -= cost
	if h.places == 0 {
		s.keys--
		t.giveHolder(r.holder)
	} else {
		t.unlink(at, h)
	}
	t.giveRecord(at)
}

// unlink takes the lease at place at, of several, out of the key's list.
func (t *Table) unlink(at uint16, h *holder) {
	r := &t.records[at]
	first, last := r.older == at, r.newer == at
	switch {
	case first:
		h.oldest = r.newer
		t.records[r.newer].older = r.newer
	case last:
		h.newest = r.older
		t.records[r.older].newer = r.older
	default:
		t.records[r.older].newer, t.records[r.newer].older = r.newer, r.older
	}
}

// chain returns the chain in which holders of index i are.
// The upper half of the index, scaled to the number of chains without a division.
func (t *Table) chain(i sketch.Index) *uint32 {
	return &t.chains[(uint64(i)>>32*uint64(len(t.chains)))>>32]
}

// find returns the key's holder, or nil.
func (t *Table) find(i sketch.Index) *holder {
	for at := *t.chain(i); at != 0; at = t.holders[at-1].next {
		if h := &t.holders[at-1]; h.index == i {
			return h
		}
	}
	return nil
}

// holderOf returns the holder of q's key, a new holder if there is none, and the holder's place.
func (t *Table) holderOf(q *Request) (*holder, uint16) {
	chain := t.chain(q.Index)
	for at := *chain; at != 0; at = t.holders[at-1].next {
		if h := &t.holders[at-1]; h.index == q.Index {
			return h, uint16(at - 1) // a place
		}
	}
	at := t.freeHolder
	if at == 0 {
		t.freshHolder++
		at = uint32(t.freshHolder) // at most Max
	} else {
		t.freeHolder = t.holders[at-1].next
	}
	h := &t.holders[at-1]
	// as said
	*h = holder{index: q.Index, rule: q.Rule, next: *chain, length: uint8(min(len(q.Key), 255))}
	copy(h.text[:], q.Key)
	*chain = at
	t.rules[q.Rule].keys++
	return h, uint16(at - 1) // a place
}

// giveHolder frees the holder at place.
func (t *Table) giveHolder(place uint16) {
	h := &t.holders[place]
	link := t.chain(h.index)
	for *link != uint32(place)+1 {
		link = &t.holders[*link-1].next
	}
	*link = h.next
	*h = holder{next: t.freeHolder}
	t.freeHolder = uint32(place) + 1
}
