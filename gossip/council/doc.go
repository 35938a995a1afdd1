// Package council is the control loop over all PoPs: demand goes up, a drop ratio comes down. It opens nothing and reads
// no clock: time, chance and sending are arguments, so that the same code runs in the daemon and in a simulated world.
//
//	every flush:  Measure ─► local ─trigger─► ask ─► the PoP's reporter ─► desk ─► demand ─► owner, standby ─► book
//	every batch:  book: Account.Step ─► view ─► the reporter's desk: what both witnesses say ─► advice ─► local ─► Apply
//	              book near its limit ─► notice ─► everybody: report this key though your share of it is small
//
// Who is what follows from the members alone: a key's shard is a hash, its owner the member with the best rendezvous score
// for that shard, its standby the best of another PoP, a PoP's reporter the best of that PoP. No one is elected, and two
// who think they are the same do no harm, for everything that is sent is state: a later one replaces an earlier one.
//
// What it gives up: a lie of somebody who holds the cluster's key and is believed to be a PoP's reporter shifts that PoP's
// share of a limit, for nobody else can know what a PoP was asked. A lying owner alone convicts nobody, as its standby
// does not agree.
package council
