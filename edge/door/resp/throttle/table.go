package throttle

import (
	"hash/maphash"
	"sync"
)

// The table's form: a key may be in any cell of two rows, which lie in the same block behind a
// lock.
const (
	rowCells  = 4
	blockRows = 64
	cellBytes = 16
	// BlockBytes is the least size of a table, and each size is a multiple of it.
	BlockBytes = blockRows * rowCells * cellBytes
)

// cell is the state of a key.
type cell struct {
	tag uint64 // hash of the key
	tat int64  // nanoseconds; what has passed is free
}

// row is the cells of a cache line.
type row [rowCells]cell

// block is the rows behind a lock.
type block struct {
	mu   sync.Mutex
	rows [blockRows]row
}

// Table holds the TATs of a fixed number of keys. Its methods may be called concurrently.
type Table struct {
	seed   maphash.Seed
	blocks []block
}

// NewTable returns a table of about many bytes, at least BlockBytes.
func NewTable(bytes int64) *Table {
	return &Table{seed: maphash.MakeSeed(), blocks: make([]block, max(1, bytes/BlockBytes))}
}

// Cells returns how many keys the table can hold at most.
func (t *Table) Cells() int { return len(t.blocks) * blockRows * rowCells }

// Take takes quantity tokens of key at now. displaced: no cell of the key's two rows was free, and
// the key got the cell of the key whose bucket would have been full first; that bucket counts as
// full. ErrRange: see Quota.Take.
//
// now must not be less than 0, and is never far behind that of another call.
func (t *Table) Take(
	q *Quota, key []byte, now, quantity int64,
) (r Result, displaced bool, err error) {
	h := maphash.Bytes(t.seed, key)
	b := &t.blocks[h>>16%uint64(len(t.blocks))]
	b.mu.Lock()
	defer b.mu.Unlock()
	c := find(&b.rows[h%blockRows], &b.rows[h>>8%blockRows], h)
	if c.tag == h {
		c.tat, r, err = q.Take(c.tat, now, quantity)
		return r, false, err
	}
	next, r, err := q.Take(0, now, quantity)
	if err != nil || next <= now { // the bucket stays full, as one that has no cell
		return r, false, err
	}
	displaced = c.tat > now
	*c = cell{tag: h, tat: next}
	return r, displaced, nil
}

// find returns the cell of h in two rows, else the cell with the earliest TAT.
func find(first, second *row, h uint64) *cell {
	earliest := &first[0]
	for _, cells := range [...]*row{first, second} {
		for i := range cells {
			c := &cells[i]
			if c.tag == h {
				return c
			}
			if c.tat < earliest.tat {
				earliest = c
			}
		}
	}
	return earliest
}
