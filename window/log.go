package window

import (
	"fmt"
	"math"
	"time"
)

// Log is the exact sliding log of a key: every offer and every admission of the trailing window
// with times. The oracle for counters, in tests, in replay and in benchmarks. The daemon never uses
// it: the memory grows with the traffic, and all of the daemon's is fixed at start.
//
// The trailing window at t is (t - window, t]: an event exactly one window old is out. Times are
// rounded down to a multiple of tick, as the exact slots round them, so the two can be compared
// request by request. Time does not run backwards here: a now before the newest is read as the
// newest.
//
// Every method takes O(1) time, amortised over the requests recorded. Not safe for concurrent use.
type Log struct {
	window   time.Duration
	tick     time.Duration
	newest   Instant
	offered  trail
	admitted trail
}

// NewLog returns an empty log over window with times in multiples of tick, 1 µs for windows up to
// 1,073 s; see Tick. Panics unless 0 < tick <= window: a programmer's error.
func NewLog(window, tick time.Duration) *Log {
	if tick <= 0 || tick > window {
		panic(fmt.Sprintf("window: a log over %v cannot have ticks of %v", window, tick))
	}
	return &Log{window: window, tick: tick, newest: math.MinInt64}
}

// Offer records cost as asked for at now. A cost of 0 or less is not recorded.
func (l *Log) Offer(now Instant, cost int64) {
	now = l.advance(now)
	l.offered.push(now, cost)
}

// Admit records cost as admitted at now. A cost of 0 or less is not recorded.
func (l *Log) Admit(now Instant, cost int64) {
	now = l.advance(now)
	l.admitted.push(now, cost)
}

// Offered returns the cost asked for in the trailing window at now.
func (l *Log) Offered(now Instant) int64 {
	l.advance(now)
	return l.offered.sum
}

// Admitted returns the cost admitted in the trailing window at now.
func (l *Log) Admitted(now Instant) int64 {
	l.advance(now)
	return l.admitted.sum
}

// advance moves the log to now, forgets events outside the window, and returns the log's moment:
// now in whole ticks, or the newest moment if that is later.
func (l *Log) advance(now Instant) Instant {
	l.newest = max(l.newest, floorTo(now, l.tick))
	edge := l.newest.Add(-l.window)
	l.offered.forget(edge)
	l.admitted.forget(edge)
	return l.newest
}

// floorTo rounds t down to a multiple of tick, also before 1970.
func floorTo(t Instant, tick time.Duration) Instant {
	rest := t % Instant(tick)
	if rest < 0 {
		rest += Instant(tick)
	}
	return t - rest
}

// smallestTrail is the room of a trail's first allocation, in moments; a power of two.
const smallestTrail = 4

// trail is a queue of moments, oldest first, with the sum of their costs kept alongside.
type trail struct {
	ring []moment // len is 0 or a power of two
	head int      // index of the oldest
	size int
	sum  int64
}

// moment is the cost recorded under a tick.
type moment struct {
	at   Instant
	cost int64
}

// push adds cost at the newest end; at is never before the newest there.
func (t *trail) push(at Instant, cost int64) {
	if cost <= 0 {
		return
	}
	t.sum += cost
	if t.size > 0 && t.slot(t.size-1).at == at {
		t.slot(t.size - 1).cost += cost
		return
	}
	if t.size == len(t.ring) {
		t.resize(max(smallestTrail, 2*len(t.ring)))
	}
	t.size++
	*t.slot(t.size - 1) = moment{at, cost}
}

// forget drops every moment at or before edge. A trail mostly empty gives memory back: a key after
// a burst must not hold memory of the peak for the rest of a long log.
func (t *trail) forget(edge Instant) {
	for t.size > 0 && t.ring[t.head].at <= edge {
		t.sum -= t.ring[t.head].cost
		t.head = (t.head + 1) & (len(t.ring) - 1)
		t.size--
	}
	if len(t.ring) > smallestTrail && t.size <= len(t.ring)/8 {
		t.resize(len(t.ring) / 2)
	}
}

// slot returns the i-th moment, oldest first.
func (t *trail) slot(i int) *moment { return &t.ring[(t.head+i)&(len(t.ring)-1)] }

// resize moves the queue into a ring of room moments.
func (t *trail) resize(room int) {
	ring := make([]moment, room)
	for i := range t.size {
		ring[i] = *t.slot(i)
	}
	t.ring, t.head = ring, 0
}
