package ring

import "time"

const (
	// failuresToOpen is how many failed rounds in a row open a breaker. At one round each 100 ms
	// the breaker opens within 250 ms of a server's last answer, and a single late answer opens
	// nothing.
	failuresToOpen = 2
	// probeEvery is how often an open breaker lets an operation through.
	probeEvery = 250 * time.Millisecond
)

// breaker is the state of a server, and keeps exchanges from waiting for a server that does not
// answer. Two failed rounds in a row open it; while it is open, one operation each probeEvery tries
// the server, and a success closes it. The zero breaker is closed. For a single goroutine; the time
// is an argument.
type breaker struct {
	failures int       // failed rounds in a row
	open     bool      // only probes are sent
	probe    time.Time // when open: the earliest time of the next probe
}

// Open reports whether only probes may be sent.
func (b *breaker) Open() bool { return b.open }

// Due reports whether an operation may probe the server now. If so, the next probe is due
// probeEvery later.
func (b *breaker) Due(now time.Time) bool {
	if now.Before(b.probe) {
		return false
	}
	b.probe = now.Add(probeEvery)
	return true
}

// Failed counts a failed round and reports whether the breaker opened.
func (b *breaker) Failed(now time.Time) (opened bool) {
	b.failures++
	if b.open || b.failures < failuresToOpen {
		return false
	}
	b.open, b.probe = true, now.Add(probeEvery)
	return true
}

// Succeeded closes the breaker.
func (b *breaker) Succeeded() { *b = breaker{} }
