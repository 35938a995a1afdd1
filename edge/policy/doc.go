// Package policy decides which rules a request is counted against, and by which keys.
//
//	Spec ──Check──► faults          Request ──Evaluate──► Result: skip, deny, or up to 16 questions
//	  └──Load───► Engine ◄─────────────┘                     {rule, key, cost, judges, counts}
//
// A policy is a condition (edge/policy/condition) and its effects. The engine answers the
// conditions on method, host, path and client for all policies at once, by tables that lead to bit
// sets; the rest are tests, each distinct one evaluated at most once a request. One that fails
// removes every policy needing it; a list of tests that held holds for all policies needing the
// same list. Policies with equal keys share one, which is built when the first of them asks.
//
// Evaluate allocates nothing and takes no lock: an Engine never changes, and a Result belongs to
// its caller. The package opens no file, reads no clock and knows neither gate nor protocol.
package policy
