package throttle

import (
	"hash/maphash"
	"sync"
)

// The table's form: a key may be in any cell of two rows, which lie in one block behind one lock.
const (
	rowCells  = 4
	blockRows = 64
	cellBytes = 16
	// BlockBytes is the least size of a table, and each size is a multiple of it.
	BlockBytes = blockRows * rowCells * cellBytes
)

// cell is the state of one key.
type cell struct {
	tag uint64 // hash of the key
	tat int64  // nanoseconds; what has passed is free
}

// row is the cells of one cache line.
type row [rowCells]cell

// block is the rows behind one lock.
type block struct {
	mu   sync.Mutex
	rows [blockRows]row
}

// Table holds the TATs of a fixed number of keys. Its methods may be called concurrently.
type Table struct {
	seed   maphash.Seed
	blocks []block
}

// NewTable returns a table of about that many bytes, at least BlockBytes.
func NewTable(bytes int64) *Table {
	return &Table{seed: maphash.MakeSeed(), blocks: make([]block, max(1, bytes/BlockBytes))}
}

// Cells returns how many keys the table can hold at most.
func (t *Table) Cells() int { return len(t.blocks) * blockRows * rowCells }

// Take takes quantity tokens of key at now. full: the bucket of key is not in the table, and there
// is no room: nothing was counted, and the result is that of a full bucket. ErrRange: see Quota.Take.
//
// now must not be less than 0, and is never far behind that of another call.
func (t *Table) Take(q *Quota, key []byte, now, quantity int64) (r Result, full bool, err error) {
	h := maphash.Bytes(t.seed, key)
	b := &t.blocks[h>>16%uint64(len(t.blocks))]
	first, second := &b.rows[h%blockRows], &b.rows[h>>8%blockRows]
	b.mu.Lock()
	defer b.mu.Unlock()
	c := find(first, second, h, now)
	if c == nil {
		_, r, err = q.Take(0, now, quantity)
		return r, err == nil, err
	}
	if c.tag != h {
		*c = cell{tag: h}
	}
	next, r, err := q.Take(c.tat, now, quantity)
	c.tat = next
	return r, false, err
}

// find returns the cell of h in two rows, or one that is free at now; nil: there is none.
func find(first, second *row, h uint64, now int64) (free *cell) {
	for _, cells := range [...]*row{first, second} {
		for i := range cells {
			c := &cells[i]
			if c.tag == h {
				return c
			}
			if c.tat <= now && (free == nil || c.tat < free.tat) {
				free = c
			}
		}
	}
	return free
}
