// Package policy decides which rules a request is counted against, and by which keys.
//
//	Spec ──Check──► faults          Request ──Evaluate─► Result: skip, deny, or up to 16 questions
//	  └──Load───► Engine ◄─────────────┘                    {rule, key, cost, judges, counts}
//
// A policy is a condition (edge/policy/condition) and effects. The engine answers the conditions on
// method, host, path and client for all policies at once, by tables leading to bit sets; the rest
// are tests, each distinct test evaluated at most once a request. A failing test removes every
// policy needing the test; a list of tests held holds for all policies needing the same list.
// Policies with equal keys share a key, built at the first question.
//
// Evaluate allocates nothing and takes no lock: an Engine never changes, and a Result belongs to
// the caller. The package opens no file, reads no clock and knows neither gate nor protocol.
package policy
