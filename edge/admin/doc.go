// Package admin is the HTTP listener for people: the listener shows a node's counts and flags, and
// takes operators' overrides and changes of mode.
//
//	request ─► headers ─► guard: Host, Origin, token ─► route ─► parameters or JSON ─► gate ─► JSON
//	                        └─────────────────────────────┴──────────────┴─► problem; nothing was changed
//
//	flag table ─► changes ─┬─► live.Hub ─► streams of /v1/events, and the log
//	gate ─► picture ───────┘
//	gate ─► totals ─► live.History ─► /v1/history
//
// Answers are the types of package api. The door changes nothing but the gate; the listener reads
// every other part of the node through the functions of Options.
//
// # Bounds
//
// At most 256 connections are open: a newcomer takes the place of the least important connection,
// see places. Headers take at most 16 KiB, bodies 64 KiB, query strings 4 KiB, and a list 1,000
// rows. Two costly answers and two scrapes run at the same time. Streams have the bounds of package
// live, and at most 100 changes of flags a second are sent; further scrapes are counted. Reading a
// request, writing an answer, and waiting for the next request on a connection have deadlines of 2
// to 30 seconds.
//
// # Goroutines
//
// Serve starts a goroutine for each listener and another for the streams, and waits for all.
package admin
