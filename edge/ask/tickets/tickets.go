package tickets

import (
	"encoding/binary"
	"sync"

	"github.com/headgate-dev/headgate/window"
)

// Max is how many tickets may be live at once; the oldest goes for the next one.
const Max = 1 << 16

// MaxText is the longest record of one ticket, in bytes.
const MaxText = 4096

// Store remembers what requests left to be counted. Records lie one behind the other in a ring of
// bytes, so that the oldest goes when either the bytes or the places are used up. It is safe for
// concurrent use; its lock is a leaf.
//
//	number: 48 random bits, 16 bits place in index        record: number 8 · until 8 · length 2 · text
type Store struct {
	mu    sync.Mutex
	index []uint32 // by place: offset of the record + 1; 0: none
	ring  []byte
	next  int    // where the next record goes
	last  uint16 // place of the newest ticket
	first uint16 // place of the oldest record that is still whole
	held  int    // records that are still whole, used ones included

	live, dropped uint64
}

// headBytes is the size of a record without its text.
const headBytes = 8 + 8 + 2

// New returns room for MaxTickets in bytes, at least 512 KiB.
func New(bytes int) *Store {
	bytes = max(bytes, 512<<10)
	return &Store{index: make([]uint32, Max), ring: make([]byte, bytes-4*Max), last: Max - 1}
}

// Add stores text until then and returns the number of its ticket, which is not 0. u is 64 random
// bits. A text above maxTicketText gets none.
func (t *Store) Add(text []byte, until window.Instant, u uint64) (number uint64) {
	size := headBytes + len(text)
	if len(text) > MaxText {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.next+size > len(t.ring) {
		t.makeRoom(t.next, len(t.ring))
		t.next = 0
	}
	if t.held == Max {
		t.drop()
	}
	t.makeRoom(t.next, t.next+size)
	t.last++
	if t.held == 0 {
		t.first = t.last
	}
	number = u&^0xffff | 1<<63 | uint64(t.last)
	r := t.ring[t.next : t.next+size]
	binary.LittleEndian.PutUint64(r, number)
	binary.LittleEndian.PutUint64(r[8:], uint64(until))      // a running clock
	binary.LittleEndian.PutUint16(r[16:], uint16(len(text))) // at most maxTicketText
	copy(r[headBytes:], text)
	t.index[t.last] = uint32(t.next) + 1 // far below 4 GiB
	t.next += size
	t.held++
	t.live++
	return number
}

// makeRoom drops the oldest records that touch ring[from:to].
func (t *Store) makeRoom(from, to int) {
	for t.held > 0 {
		at := int(t.index[t.first]) - 1
		end := at + headBytes + int(binary.LittleEndian.Uint16(t.ring[at+16:]))
		if end <= from || at >= to {
			return
		}
		t.drop()
	}
}

// drop forgets the oldest record. A ticket that was still to be used is counted.
func (t *Store) drop() {
	at := t.index[t.first] - 1
	if binary.LittleEndian.Uint64(t.ring[at:]) != 0 {
		t.dropped++
		t.live--
	}
	t.index[t.first] = 0
	t.first++
	t.held--
}

// Take ends the ticket of that number and appends its text to dst. It reports false where there is
// none: unknown, used, dropped or later than its time.
func (t *Store) Take(dst []byte, number uint64, now window.Instant) ([]byte, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.find(number)
	if r == nil {
		return dst, false
	}
	binary.LittleEndian.PutUint64(r, 0)
	t.live--
	return appendText(dst, r, now)
}

// Look is take without ending the ticket.
func (t *Store) Look(dst []byte, number uint64, now window.Instant) ([]byte, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.find(number)
	if r == nil {
		return dst, false
	}
	return appendText(dst, r, now)
}

// Extend has the ticket of that number last until then, if that is longer.
func (t *Store) Extend(number uint64, until window.Instant) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.find(number); r != nil {
		until = max(until, window.Instant(binary.LittleEndian.Uint64(r[8:]))) // as it was put in
		binary.LittleEndian.PutUint64(r[8:], uint64(until))                   // a running clock
	}
}

// find returns the record of the ticket of that number and what follows it, or nil.
func (t *Store) find(number uint64) []byte {
	at := int(t.index[number&0xffff]) - 1
	if at < 0 || number == 0 {
		return nil
	}
	if r := t.ring[at:]; binary.LittleEndian.Uint64(r) == number {
		return r
	}
	return nil
}

// appendText appends the text of the record r to dst, unless its time is over.
func appendText(dst, r []byte, now window.Instant) ([]byte, bool) {
	if window.Instant(binary.LittleEndian.Uint64(r[8:])) < now { // as it was put in
		return dst, false
	}
	n := int(binary.LittleEndian.Uint16(r[16:]))
	return append(dst, r[headBytes:headBytes+n]...), true
}

// Expire drops the oldest tickets whose time is over, so that they are not counted as live. It is
// called now and then.
func (t *Store) Expire(now window.Instant) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.held > 0 {
		r := t.ring[t.index[t.first]-1:]
		used := binary.LittleEndian.Uint64(r) == 0
		if !used && window.Instant(binary.LittleEndian.Uint64(r[8:])) >= now { // as it was put in
			return
		}
		if !used {
			binary.LittleEndian.PutUint64(r, 0)
			t.live--
		}
		t.drop()
	}
}

// Stats returns how many tickets are live, and how many were dropped for newer ones.
func (t *Store) Stats() (live, dropped uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.live, t.dropped
}
