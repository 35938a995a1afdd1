// Command load asks a decision server a fixed number of questions and says how fast it answered. It
// is made to saturate a one-core server from one other core, and it always ends: a reply that does
// not come is counted as lost.
//
//	keys ─► pool of ready-made packets ─► a window of outstanding requests ─► server
//	        (drawn before the clock starts)          │                          │
//	report ◄─ histogram, verdicts, losses ◄──────────┴──── replies ◄────────────┘
//
// The measuring loop is one goroutine that spins on non-blocking system calls, so give it a core of
// its own (taskset -c 1 load udp …). It runs on Linux, amd64 and arm64.
package main
