// Package mitigation decides: the rules, the table of flags, and the pure judge that turns a count
// into a verdict. The package reads no clock, draws no chance and opens nothing: time and random
// bits are arguments.
//
//	request ─► Table.Get ─► Effect ─► ByFlag ─► Ruling ─┬─ LetPass, Stop ─────────────────┐
//	                                                    └─ AskCount ─► the window's count ─┴─► Judge ─► Verdict
//
// The path of a request:
//
//	e := table.Get(now, index)                           // lock-free
//	u := dice.Draw(chance)                              // where e has a ratio
//	ruling, why := mitigation.ByFlag(e, u)
//	if ruling == mitigation.AskCount && !fits {
//		why = mitigation.ByLimit
//	}
//	verdict := mitigation.Judge(rule, why)               // shadow changes the answer only
//
// Given up: the table is bounded. When a bucket of 8 places is full, the flag worth least goes: a
// node's own flag before an operator's, a short before a long. An operator's may take a place in a
// second bucket too, so all have a place.
package mitigation
