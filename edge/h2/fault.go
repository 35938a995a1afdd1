package h2

import (
	"time"
)

// fault is a fault of the peer ending the connection.
type fault struct {
	code   code
	reason Reason
}

// Error is part of error; the text is for tests.
func (f fault) Error() string { return "h2: " + f.reason.String() }

// end adds the counts to the counters. If err is a fault, fail says goodbye. The counters are
// shared by all connections: added to once a read and not once a call, for each is a cache line
// written by all cores.
func (c *Conn) end(err error) error {
	if c.calls > 0 {
		c.counters.Calls.Add(c.calls)
		c.calls = 0
	}
	if err != nil {
		c.over = true
		f, _ := err.(fault) //nolint:errorlint // it is never wrapped
		c.count(f.reason)
		c.out = appendGoAway(c.out, c.last, f.code)
		err = ErrClosed
	}
	for r, n := range c.faultCount {
		if n > 0 {
			c.counters.Faults[r].Add(n)
			c.faultCount[r] = 0
		}
	}
	return err
}

// count notes a fault of the peer.
func (c *Conn) count(r Reason) { c.faultCount[r]++ }

// rate counts the frames of a peer in a second. Whole seconds of the caller's clock: a peer can
// send twice the bound around a turn, which is no more than the bound of two seconds.
type rate struct {
	second                   time.Duration
	control, resets, answers int
}

// turn begins a new second where due.
func (r *rate) turn(now time.Duration) {
	if second := now / time.Second; second != r.second {
		*r = rate{second: second}
	}
}

// control counts a frame other than a request. Clients send some with each answer (see
// controlPerCall), so the bound rises with the answers: only frames without work behind them are a
// flood.
func (c *Conn) control() error {
	c.rate.turn(c.now)
	if c.rate.control++; c.rate.control > MaxControl+controlPerCall*c.rate.answers {
		return fault{calmDown, ControlFlood}
	}
	return nil
}
