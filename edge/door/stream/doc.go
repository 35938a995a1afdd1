// Package stream serves the connections of a door: it accepts them within a bound, gives each a
// goroutine, and ends them when the daemon stops.
//
//	listeners ──► Serve ──► one of Most? ──► a goroutine ──► Handle(c) ──► the door's own protocol ──► c.Show()
//	                 │ no                         ▲             ▲
//	                 ├─ a connection gives way ───┘             │   the oldest of the address with most that showed nothing;
//	                 └─ none: Full(c), closed                   │   else the longest idle of the address with most
//	ctx ends ──► the queue, no more ──► c.Stopping, reads end ──┘ ──► after Drain: closed
//	c.Fault(), and Handle returned ──► its own direction ends ──► after FaultPause: closed
//
//	c.Feed(feeder) ──► bytes, as they come ──► feeder.Take ──► c.WriteWithin
//
// Package stream reads and writes nothing of a protocol. A stop serves the connections waiting to
// be accepted, and a Feeder in the middle of a unit keeps its time.
package stream
