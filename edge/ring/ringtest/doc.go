// Package ringtest is the fake memcached of this repository's tests, where a real one is not at
// hand or cannot show a fault: the counters of a ring's servers in memory, where a test makes
// servers fail, forget and lie.
//
//	m := ringtest.NewMemory(3)        // three servers, numbered from 0
//	f := pop.New(gate, pop.Options{Tally: m, …})
//	m.SetDown(1, true)                // every operation on server 1 fails with ring.ErrDown
//	m.Restart(2)                      // server 2 forgets every counter
//	m.Distort(func(op *ring.Op) { … }) // replaces answers
//
// Memory takes the place of a *ring.Ring, not of the TCP server behind it: there is no protocol, no
// timeout and no breaker, an operation takes no time, and counters never expire. The tests of
// package ring have a fake that speaks the protocol.
package ringtest
