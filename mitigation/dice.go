package mitigation

import "sync"

// strata is the number of draws in a block.
const strata = 256

// Dice draws the bits that decide requests by a drop ratio, from shuffled blocks.
//
// A block is the numbers 0 to 255 in random order; a draw is (number + uniform)/256. So a draw is
// uniform, and a request is dropped with the probability of the ratio. Draws of a block are
// negatively associated (Joag-Dev and Proschan, 1983): whatever requests a client makes, n in a row
// are dropped with a probability of ratio^n at most. Of 256 requests in a row the dropped number is
// within 2 of the ratio's. Neighbours correlate by -1/255.
//
// The zero Dice is ready. Safe for concurrent use; Draw does not allocate.
type Dice struct {
	mu    sync.Mutex
	drawn int           // of this block
	block [strata]uint8 // what is drawn, then the rest; all 0 before the first draw
}

// Draw returns the bits that decide the next request; u is 64 random bits.
func (d *Dice) Draw(u uint64) uint64 {
	d.mu.Lock()
	if d.block[0] == d.block[1] {
		for n := range d.block {
			d.block[n] = uint8(n)
		}
	}
	at := d.drawn + int(u>>32*uint64(strata-d.drawn)>>32)
	is := d.block[at]
	d.block[at], d.block[d.drawn] = d.block[d.drawn], is
	d.drawn = (d.drawn + 1) % strata
	d.mu.Unlock()
	return uint64(is)<<56 | u<<32>>8
}
