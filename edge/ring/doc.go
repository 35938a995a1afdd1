// Package ring is how the nodes of a PoP add up their counts: in a ring of memcached, each counter on one of them. It says
// what a counter is called (Digester) and which server holds it (Placement), adds to it there and brings back the total
// (Ring). What to add, when, and what to make of a total is its caller's business.
//
//	rule, client key, window ─► Digester.Key ─► "hg:6f0c…"
//	                                               │
//	                            Placement.Pick ◄───┤
//	                                  │ server     │ key
//	                                  ▼            ▼
//	             deltas ─────────► []Op ─────► Ring.Do
//	                                ▲             ├─► server 0: breaker ─► meta commands, pipelined, or gomemcache ─► memcached
//	             Total or Err ◄─────┘             ├─► server 1: …                                               (or twemproxy)
//	                                              └─► server 2: …
//
// Nothing here is on the way of a decision. Servers are believed in nothing but what they are asked: a total is what a
// server said, to be held against what is plausible. Anyone who can write to a memcached can write to a counter; who
// lacks the secret cannot tell which.
package ring
