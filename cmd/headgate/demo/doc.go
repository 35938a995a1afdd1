// Package demo is `headgate demo`: three nodes and their rings in a process, clients and an attack,
// and their display.
//
//	story ─► load ──UDP──► stage: three daemons and their rings ◄──HTTP── watch: mitigations
//	           └─► story: answers, the summary                                │
//	                  └───────► screen: a live screen, or lines ◄─────────────┘
//
// The stage runs a node for each PoP, as `headgate serve` would, in this process, each beside a
// ring. Close removes dir; nothing runs any more then.
//
//	dir/lhr.yaml ──► daemon ◄──► memcached
//	dir/fra.yaml ──► daemon ◄──► memcached
//	dir/nyc.yaml ──► daemon ◄──► memcached
//	                    └── gossip
package demo
