package udp

import (
	"fmt"

	"github.com/headgate-dev/headgate/edge/gate"
)

// Life is an observation of the loops of decisions. Two observations tell whether a loop is stuck:
//
//	Run ───────── +1 a turn, each 100 ms ───────────────────────────┐
//	UDP readers ─ +1 at a batch, +1 at its answers: odd in between ─┴─► Life ─► Stalled
//
// HTTP has no such loop: deadlines bound each of its connections. Loops whose standstill has a
// failure mode, such as the flusher of a ring, are not observed either.
type Life struct {
	turns   uint64
	readers []uint64 // door by door
}

// Look observes the control loop, which has made so many turns, and the readers of doors. No lock,
// so Life returns even when every loop is stuck.
func Look(turns uint64, doors ...*Door) Life {
	l := Life{turns: turns}
	for _, u := range doors {
		for n := range u.stats {
			l.readers = append(l.readers, u.stats[n].turns.Load())
		}
	}
	return l
}

// Stalled names a loop without movement between before and l, or returns "". Both must come from
// Look with the same doors, in the same order. A reader waiting for a datagram is not stuck; a
// reader inside the same batch at both observations is.
func (l Life) Stalled(before Life) string {
	if l.turns == before.turns {
		return "the control loop"
	}
	for n, turns := range l.readers {
		if turns == before.readers[n] && turns%2 == 1 {
			return fmt.Sprintf("reader %d of datagram door %d", n%gate.Lanes, n/gate.Lanes)
		}
	}
	return ""
}
