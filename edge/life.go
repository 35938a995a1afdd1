package edge

import "fmt"

// Life is one look at the loops that decisions rest on. Two looks tell whether one of them stands still:
//
//	Run ───────── +1 a turn, each 100 ms ─────────────────────────────────────────┐
//	UDP readers ─ +1 when a batch came, +1 when it is answered: odd in between ───┴─► Life ─► Stalled
//
// HTTP has no loop of its own, each of its connections has deadlines instead; and what has a failure mode to act while it
// stands still, such as the flusher of a ring, is not among them.
type Life struct {
	turns   uint64
	readers []uint64 // door by door
}

// Life looks at the loop of Run and at the readers of doors. It takes no lock, so that it returns whatever stands still.
func (e *Edge) Life(doors ...*UDP) Life {
	l := Life{turns: e.turns.Load()}
	for _, u := range doors {
		for n := range u.stats {
			l.readers = append(l.readers, u.stats[n].turns.Load())
		}
	}
	return l
}

// Stalled names a loop that has stood still since before, a look at the same doors, or "". A reader that waits for a datagram
// does not stand still; one that has been answering one batch all the while does.
func (l Life) Stalled(before Life) string {
	if l.turns == before.turns {
		return "the control loop"
	}
	for n, turns := range l.readers {
		if turns == before.readers[n] && turns%2 == 1 {
			return fmt.Sprintf("reader %d of datagram door %d", n%Lanes, n/Lanes)
		}
	}
	return ""
}
