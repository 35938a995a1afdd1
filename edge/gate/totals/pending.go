package totals

import "sync/atomic"

// maxPending is how many counters a Pending gathers for: two a question of most requests.
const maxPending = 8

// Pending gathers additions to counters until Flush, so a batch of requests adds to each counter by
// a single atomic operation. It is for a single goroutine. Where it is full it is flushed early:
// nothing is lost.
type Pending struct {
	all  [maxPending]addition
	n    int
	next uint8 // the addition that is likely to come next: requests ask alike
}

type addition struct {
	to   *atomic.Uint64
	n    uint64
	then uint8 // the one behind it, in a circle
}

// Add adds n to the counter.
func (p *Pending) Add(to *atomic.Uint64, n uint64) {
	if a := &p.all[p.next%maxPending]; a.to == to {
		a.n += n
		p.next = a.then
		return
	}
	p.find(to, n)
}

// find is Add for a counter that is not the next.
func (p *Pending) find(to *atomic.Uint64, n uint64) {
	for i := range p.n {
		if a := &p.all[i]; a.to == to {
			a.n += n
			p.next = a.then
			return
		}
	}
	if p.n == maxPending {
		p.Flush()
	}
	if p.n > 0 {
		p.all[p.n-1].then = uint8(p.n) // below maxPending
	}
	p.all[p.n], p.next = addition{to: to, n: n}, 0
	p.n++
}

// Note is Tally.Note, gathered.
func (p *Pending) Note(t *Tally, o Outcome, extra uint64) {
	p.Add(&t.requests[o], 1)
	if extra > 0 {
		p.Add(&t.extra[o], extra)
	}
}

// Flush adds the gathered counts.
func (p *Pending) Flush() {
	for i := range p.n {
		a := &p.all[i]
		a.to.Add(a.n)
		a.to = nil
	}
	p.n, p.next = 0, 0
}
