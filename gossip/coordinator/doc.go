// Package coordinator is the control loop over all PoPs: demand goes up, a drop ratio comes down.
// It decides who reports to whom, and sends back the views from which nodes compute their ratios.
// The arithmetic is package control's.
//
//	every flush  gate ─► Measure ─► local ─ask─► reporterKey ─report─► owner, standby: ownedKey
//	             (Sample)           node         PoP's reporter        (Aggregate.Merge)
//	every batch  gate ◄─ Apply ◄─── local ◄─advice─ reporterKey ◄─view─ ownedKey (Aggregate.Step)
//	             (Advice)           node            verdict of both     owner, standby
//	near the limit                  all members ◄─hint─ owner: report this key, however small its rate
//
// The members alone decide who does which part: see Assignment. Nobody is elected. Two nodes that
// take the same part do no harm, because reports and views are state: a later one replaces an
// earlier one.
//
// Package coordinator opens nothing and reads no clock: time, chance and sending are arguments, so
// the same code runs in the daemon and in a simulation. One goroutine drives a Coordinator:
//
//	c := coordinator.New(options, now, wall)
//	c.SetAssignment(coordinator.assignment.New(secret, members)) // at every change of members
//	c.Measure(now, wall, samples)                               // every flush
//	c.Tick(now, wall)                                           // every batch
//	c.Receive(now, wall, packet)                                // for every packet
//	news := c.ReceiveHint(now, wall, hint)                      // for every hint; pass news on
//
// What it gives up: whoever holds the cluster's key and acts as a PoP's reporter can misstate that
// PoP's demand, for nobody else knows it. A lying owner alone convicts nobody, because its standby
// does not agree. A partition into n sides admits up to n limits once the guard of 60 s is over.
package coordinator
