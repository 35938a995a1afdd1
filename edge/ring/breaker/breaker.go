// Package breaker keeps exchanges from waiting for a server that does not answer. Two failed rounds
// in a row open a Breaker; while it is open, one operation each ProbeEvery tries the server, and a
// success closes it. The time is an argument.
package breaker

import "time"

const (
	// FailuresToOpen is how many failed rounds in a row open a breaker. At one round each 100 ms
	// that is within 250 ms of a server's last answer, and one late answer opens nothing.
	FailuresToOpen = 2
	// ProbeEvery is how often an open breaker lets one operation through.
	ProbeEvery = 250 * time.Millisecond
)

// Breaker is the state of one server. The zero Breaker is closed. One goroutine uses it.
type Breaker struct {
	failures int       // failed rounds in a row
	open     bool      // only probes are sent
	probe    time.Time // when open: the earliest time of the next probe
}

// Open reports whether only probes may be sent.
func (b *Breaker) Open() bool { return b.open }

// Due reports whether an operation may probe the server now. If so, the next probe is due
// ProbeEvery later.
func (b *Breaker) Due(now time.Time) bool {
	if now.Before(b.probe) {
		return false
	}
	b.probe = now.Add(ProbeEvery)
	return true
}

// Failed counts a failed round and reports whether it opened the breaker.
func (b *Breaker) Failed(now time.Time) (opened bool) {
	b.failures++
	if b.open || b.failures < FailuresToOpen {
		return false
	}
	b.open, b.probe = true, now.Add(ProbeEvery)
	return true
}

// Succeeded closes the breaker.
func (b *Breaker) Succeeded() { *b = Breaker{} }
