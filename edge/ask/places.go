package ask

import (
	"github.com/headgate-dev/headgate/window"
)

// Release gives back the lease of number under a rule and a key, or the key's oldest if number is
// 0. The number may be that of a ticket holding such a lease. late: there is none. The error is
// from gate.Release. A proxy holds the number the answer gave: the number of a lease, or of a
// ticket with several leases.
func (r *Room) Release(now window.Instant, rule, key []byte, number uint64) (late bool, err error) {
	late, err = r.gate.Release(now, rule, key, number)
	if late && err == nil {
		r.eachLease(number, now, func(n uint64) bool {
			late, err = r.gate.Release(now, rule, key, n)
			return late && err == nil
		})
	}
	return late, err
}

// Renew begins a lease anew, with the arguments of Release. A ticket with the lease lasts as long.
// A ticket ending before the lease would lose the report of the response.
func (r *Room) Renew(now window.Instant, rule, key []byte, number uint64) (late bool, err error) {
	late, err = r.gate.Renew(now, rule, key, number)
	if late && err == nil {
		r.eachLease(number, now, func(n uint64) bool {
			late, err = r.gate.Renew(now, rule, key, n)
			return late && err == nil
		})
		if is := r.gate.Rule(rule); !late && is != nil {
			r.tickets.Extend(number, now.Add(is.Lease))
		}
	}
	return late, err
}

// full reports whether there was no lease left for some question of the request.
func (s *Session) full() bool {
	if !s.together.TakesPlaces() {
		return false
	}
	for i := range s.together.N {
		if s.together.Decisions[i].Full {
			return true
		}
	}
	return false
}

// eachLease calls use with the leases of the ticket of number, until use returns false.
func (r *Room) eachLease(number uint64, now window.Instant, use func(lease uint64) bool) {
	var room [mostTicketText]byte
	looked, ok := r.tickets.Look(room[:0], number, now)
	if !ok {
		return
	}
	for n := range record(looked).leases() {
		if !use(n) {
			return
		}
	}
}
