// Package rivals measures other in-process limiters on the same key streams as headgate's own
// decision: one hot key, and a million keys drawn by a Zipf law. It has a module of its own, so
// that none of the modules it compares with ever enters headgate's.
//
//	stream of keys (drawn beforehand) ─► each subject's take(key) ─► ns, allocations, bytes a key
//
// Run it with ../rivals.sh, or go test -bench . -cpu 1,2.
package rivals
