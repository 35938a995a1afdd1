// Package resp answers Redis clients: CL.THROTTLE as the module redis-cell does, HEADGATE.CHECK and
// HEADGATE.ASK, and the commands by which clients and tools begin a connection. The protocol is
// RESP2, or RESP3 after HELLO 3.
//
//	bytes ─► parser ─► arguments ─► CL.THROTTLE ─────► quotas ─► throttle.Table ─┐
//	                                HEADGATE.CHECK ──► gate.Batch ───────────────┼─► reply
//	                                HEADGATE.ASK ────► fields ─► ask.Session ────┤
//	                                HELLO, AUTH, PING, … ────────────────────────┘
//	           └─ framing lost ─► -ERR, closed
//
// All commands brought by a read are decided at a single reading of the clock and answered by a
// single write. Nothing is allocated for a request once a connection is warm. A command with a
// fault is answered by an error and not counted.
//
// The numbers of CL.THROTTLE travel with each call, so no rule of the configuration has them; a
// rule, resp.rule, lends the mode. The counts are this node's own.
package resp
