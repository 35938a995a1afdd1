package ask

import (
	"runtime"
)

// shelves is how many stocks of sessions there are, by the number of a connection: so cores do not
// meet.
const shelves = 8

// stock returns a shelf of so many sessions as may be lent at once, nil until the first loan.
func stock() chan *Session {
	all := make(chan *Session, 1+runtime.GOMAXPROCS(0)/2)
	for range cap(all) {
		all <- nil
	}
	return all
}

// Borrow returns the memory for the requests of a batch of d's connection of number, until Return:
// 44 KiB, which a door of many connections does not have for each. Where all are lent Borrow waits,
// so the borrower must not wait for a peer.
func (r *Room) Borrow(d Door, number uint64) *Session {
	shelf := r.shelves[number%shelves]
	s := <-shelf
	if s == nil {
		s = r.NewSession()
		s.shelf = shelf
	}
	s.Door = d
	return s
}

// Return gives back the session of Borrow.
func (s *Session) Return() { s.shelf <- s }
