// Package ring adds up the counts of a PoP's nodes in a ring of memcached servers, each counter on
// a single server. A counter has a name (Digester) and a server (Placement); Ring adds there and
// returns the total (Ring). The caller decides which cost to add, when, and what a total means.
//
//	rule, client key, window ─► Digester.Key ─► "hg:6f0c…"
//	                                               │
//	                            Placement.Pick ◄───┤
//	                                  │ server     │ key
//	                                  ▼            ▼
//	             deltas ─────────► []Op ─────► Ring.Do
//	                                ▲             ├─► server 0: breaker ─► meta commands, pipelined,
//	             Total or Err ◄─────┘             │     or gomemcache ─► memcached (or twemproxy)
//	                                              ├─► server 1: …
//	                                              └─► server 2: …
//
// Nothing here is on the path of a decision. A total is only a server's claim, which the caller
// holds against what is plausible: anyone who can write to a memcached can write to a counter.
// Without the secret nobody can tell which counter is whose.
package ring
