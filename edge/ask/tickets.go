package ask

import (
	"sync"

	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/lease"
)

// Bounds of a store.
const (
	mostTickets    = 1 << 16                   // tickets live at once
	least          = 1 << 10                   // places of the smallest store
	mostTicketText = 4096                      // bytes of the longest record
	placeText      = 50                        // bytes of a record in a place
	placeBytes     = 8 + 8 + 6 + placeText + 2 // of a place, and of its entry in the heap
)

// place holds a record, or a part of a longer record. A free place has number 0.
type place struct {
	number uint64 // of the ticket; 0: it has none
	until  window.Instant
	length uint16 // of the whole record
	heaped uint16 // its place in the heap
	next   uint16 // of the next part, or of the next free place; itself: there is none
	text   [placeText]byte
}

// ticketStore remembers the questions counted when the responses of their requests come. The
// numbers cannot be guessed, nothing is allocated, and the memory is fixed.
//
//	record ──Add──► number of a ticket ──Take──► record, once
//	                      └──── First ──► the record that ends first, when there is no room
//
// A record takes a place, a longer record several. Safe for concurrent use; the lock is a leaf.
//
//	number: 1 · 47 random bits · 16 bits place
type ticketStore struct {
	mu     sync.Mutex
	places []place
	ends   lease.Ends // of the first places of records
	fresh  int        // places never used so far begin here
	free   int        // first free place before that; -1: none
	room   int        // free places in all

	dropped uint64
}

// newTickets returns a store of about many bytes: 1,024 to mostTickets places.
func newTickets(bytes int) *ticketStore {
	n := max(least, min(bytes/placeBytes, mostTickets))
	t := &ticketStore{places: make([]place, n), free: -1, room: n}
	t.ends = lease.NewEnds(n, func(at uint16) (window.Instant, *uint16) {
		return t.places[at].until, &t.places[at].heaped
	})
	return t
}

// Add stores text until then and returns the ticket's number; 0: there is no room, see First. u is
// 64 random bits. A text has at most mostTicketText bytes.
func (t *ticketStore) Add(text []byte, until window.Instant, u uint64) (number uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if max(1, (len(text)+placeText-1)/placeText) > t.room {
		return 0
	}
	at := t.take()
	first := &t.places[at]
	// at most mostTicketText
	first.number, first.until, first.length = u&^0xffff|1<<63|uint64(at), until, uint16(len(text))
	for p := first; ; p = &t.places[p.next] {
		n := copy(p.text[:], text)
		if text = text[n:]; len(text) == 0 {
			break
		}
		p.next = t.take()
	}
	t.ends.Enter(at)
	return first.number
}

// take returns a free place with no next. There is one.
func (t *ticketStore) take() (at uint16) {
	if t.room--; t.free < 0 {
		at = uint16(t.fresh) // below mostTickets
		t.fresh++
	} else {
		at = uint16(t.free) // a place
		if t.free = int(t.places[at].next); t.free == int(at) {
			t.free = -1
		}
	}
	t.places[at].next = at
	return at
}

// end frees the places of the record whose first place is at.
func (t *ticketStore) end(at uint16) {
	t.ends.Leave(at)
	for last := false; !last; {
		p := &t.places[at]
		next := p.next
		last = next == at
		p.number, p.next = 0, at
		if t.free >= 0 {
			p.next = uint16(t.free) // a place
		}
		t.free = int(at)
		t.room++
		at = next
	}
}

// Take ends the ticket of number and appends the record to dst. False: unknown, used, dropped or
// later than its time.
func (t *ticketStore) Take(dst []byte, number uint64, now window.Instant) ([]byte, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at, ok := t.find(number)
	if !ok {
		return dst, false
	}
	if ok = t.places[at].until >= now; ok {
		dst = t.appendText(dst, at)
	}
	t.end(at)
	return dst, ok
}

// First ends the ticket next to end and appends the record to dst, for a ticket without room.
// Counted as dropped, unless the time is over.
func (t *ticketStore) First(dst []byte, now window.Instant) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ends.Len() == 0 {
		return dst
	}
	at := t.ends.At(0)
	if t.places[at].until >= now {
		t.dropped++
		dst = t.appendText(dst, at)
	}
	t.end(at)
	return dst
}

// Look is Take without ending the ticket.
func (t *ticketStore) Look(dst []byte, number uint64, now window.Instant) ([]byte, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at, ok := t.find(number)
	if !ok || t.places[at].until < now {
		return dst, false
	}
	return t.appendText(dst, at), true
}

// Extend has the ticket of number last until then, if longer.
func (t *ticketStore) Extend(number uint64, until window.Instant) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at, ok := t.find(number); ok && until > t.places[at].until {
		t.places[at].until = until
		t.ends.Moved(at)
	}
}

// find returns the first place of the record of number.
func (t *ticketStore) find(number uint64) (at uint16, ok bool) {
	at = uint16(number) // its low bits
	return at, number != 0 && int(at) < t.fresh && t.places[at].number == number
}

// appendText appends the record whose first place is at to dst.
func (t *ticketStore) appendText(dst []byte, at uint16) []byte {
	p := &t.places[at]
	for left := int(p.length); ; p = &t.places[p.next] {
		n := min(left, placeText)
		if dst, left = append(dst, p.text[:n]...), left-n; left == 0 {
			return dst
		}
	}
}

// Expire ends the tickets whose time is over, so as not to be counted as live. Called now and then.
func (t *ticketStore) Expire(now window.Instant) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.ends.Len() > 0 && t.places[t.ends.At(0)].until < now {
		t.end(t.ends.At(0))
	}
}

// Stats returns how many tickets are live, and how many were dropped for newer tickets.
func (t *ticketStore) Stats() (live, dropped uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return uint64(t.ends.Len()), t.dropped
}
