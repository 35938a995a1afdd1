// Package spop answers HAProxy over its Stream Processing Offload Protocol, SPOP 2.0 (HAProxy's
// doc/SPOE.txt): a few bytes a request over a connection that HAProxy keeps, in place of an HTTP
// request.
//
//	bytes ─► frame ─► HELLO ───────► our HELLO
//	                  NOTIFY ─► message ─► ask, report, release: fields ─► ask.Session ─┐
//	                                       rule and key: gate.Batch ────────────────────┴─► actions: variables ─► ACK
//	                  DISCONNECT ──► ours, closed
//	         └─ not of the grammar ─► DISCONNECT with the fault's number, this connection only
//
// All frames brought by a read are decided at a single reading of the clock and answered by a
// single write. Nothing is allocated for a request once a connection is warm. A message this
// version does not know sets nothing; a message with a fault sets the variable error, and is not
// counted.
package spop
