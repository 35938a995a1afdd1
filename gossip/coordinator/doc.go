// Package coordinator is the control loop over all PoPs: demand goes up, a drop ratio comes down.
// The coordinator decides which node reports to which, and sends back the views from which nodes
// compute their ratios. The arithmetic of demand and limits is package control's.
//
//	every flush  gate ─► Measure ─► local ─ask─► reporterKey ─report─► owner, standby: ownedKey
//	             (Sample)           node         PoP's reporter        (Aggregate.Merge)
//	every batch  gate ◄─ Apply ◄─── local ◄─advice─ reporterKey ◄─view─ ownedKey (Aggregate.Step)
//	             (Advice)           node            verdict of both     owner, standby
//
// A node holds a key in up to three roles. Each is a struct, written by this node alone:
//
//	local       at a node that measures the key the last Sample, the report that was sent,
//	            the last view
//	reporterKey at the PoP's reporter           the PoP's report, its nodes, the views of owner
//	                                            and standby
//	ownedKey    at owner and standby            the reports of all PoPs, the reporters
//	                                            and their last views
//
// The rest is in other rooms, each a package with a small surface:
//
//	assignment which member owns, stands by for and reports a key
//	packet     the bytes of the five kinds of records
//	peers      whether a packet is new, its sender's clock right, and whether the sender answers;
//	           between which PoPs counts are exchanged, and who receives next
//
// and four files of this package: budget.go (the bytes that may be sent, by kind of record, and the
// load), arrivals.go (when admissions came, from the admitting node to the others), rates.go (which
// change of a rate is worth a report, and the ratio where counts are missing), map.go (collections
// whose order a simulation can repeat).
//
// A report goes up when new, or the offered or admitted rate moved by more than chance, and
// otherwise at a refresh interval of 0.5 s (shed) or 1 s, which the number of keys stretches to at
// most 25 s. With n PoPs and a rule of limit L a second, a PoP reports a key with a rate of less
// than
//
//	0.25·L/n
//
// each 5 s only, unless a view was near the limit in the last 10 s. So small PoPs hide at most a
// quarter of the limit, and for 5 s. A key whose rule blocks or holds by counts is reported once
// when new: who reported is sent each view that differs. An owner sends a view when a rate differs
// by 2 %, when the view lacks half of the rest of the limit and no less than 0.5 % of the rest, and
// at the latest after 1 s: see rates.go. A node uses a view for 30 s; a reporter takes the lesser
// of two witnesses, or the only answer within 1.5 s.
//
// The members alone decide which node does which part: see package assignment. There is no
// election. Two nodes in the same part do no harm, because reports and views are state: a later
// replaces an earlier.
//
// Keys of small limits have a single role, counted, and no owner: counts.go, counts_send.go and
// counts_receive.go send the admissions of a PoP to the other PoPs (package counts).
//
// The bytes of all keys are bounded: see memory.go. Without room the keys with the least of their
// limit used give way.
//
// Package coordinator opens nothing and reads no clock: time, chance and sending are arguments, so
// the same code runs in the daemon and in a simulation, and the same seed gives the same sequence
// of bytes. A goroutine drives a Coordinator:
//
//	c := coordinator.New(options, now, wall)
//	c.SetAssignment(coordinator.NewAssignment(secret, members)) // at every change of members
//	c.Measure(now, wall, samples)                               // every flush
//	c.Tick(now, wall)                                           // every batch
//	c.Receive(now, wall, packet)                                // for every packet
//
// Given up: a member with the cluster's key and acts as a PoP's reporter can misstate that PoP's
// demand, because no other PoP can check it. A lying owner alone convicts no key, because the
// standby does not agree. A partition into n sides admits up to n limits once the guard of 60 s is
// over.
package coordinator
