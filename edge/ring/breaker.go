package ring

import "time"

const (
	// failuresToOpen is how many failed rounds in a row open a breaker. At one round each 100 ms
	// that is within 250 ms of a server's last answer, and one late answer opens nothing.
	failuresToOpen = 2
	// probeEvery is how often an open breaker lets one operation through.
	probeEvery = 250 * time.Millisecond
)

// breaker keeps rounds from waiting for a server that does not answer. One goroutine uses it. The
// time is an argument.
type breaker struct {
	failures int       // failed rounds in a row
	open     bool      // only probes are sent
	probe    time.Time // when open: the earliest time of the next probe
}

// due reports whether an operation may probe the server now. If so, the next probe is due
// probeEvery later.
func (b *breaker) due(now time.Time) bool {
	if now.Before(b.probe) {
		return false
	}
	b.probe = now.Add(probeEvery)
	return true
}

// failed counts a failed round and reports whether it opened the breaker.
func (b *breaker) failed(now time.Time) (opened bool) {
	b.failures++
	if b.open || b.failures < failuresToOpen {
		return false
	}
	b.open, b.probe = true, now.Add(probeEvery)
	return true
}

// succeeded closes the breaker.
func (b *breaker) succeeded() { *b = breaker{} }
