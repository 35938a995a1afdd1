// Package demo is `headgate demo`: three nodes and their rings in a process, clients and an attack,
// and their display.
//
//	story ─► load ──UDP──► stage: three daemons and their rings ◄──HTTP── watch: mitigations
//	           └─► story: answers, the summary                                │
//	                  └───────► screen: a live screen, or lines ◄─────────────┘
package demo
