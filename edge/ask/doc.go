// Package ask decides whole requests: a door fills in the request, the policies in force make
// questions of it, and the gate answers at once. A question countable only by the response leaves a
// ticket behind, which a report ends.
//
//	door ─► Session.Request ─► policy.Engine ─► questions ─► gate.Batch.All ─► Answer
//	                                                │                             │ Ticket
//	                                     what counts by the response ─► tickets ◄─┘
//	door ─► report ─► ticket, or the request again ─► what counts now ─► gate
//
// The policies are swapped in a single step: a request is decided by a set of them from beginning
// to end. Tickets of the set before stay good. Of older sets they are late.
//
// Deciding performs no I/O, does not wait and allocates nothing. The package has no clock: the time
// and the random bits of a decision come with the gate's batch, and the caller hands both to Decide
// and Report.
package ask
