// Package api is the contract of the admin listener as Go types: the JSON bodies of answers and
// requests, and the form in which keys are shown.
//
//	edge/admin ──JSON──► (HTTP) ──JSON──► cmd/headgate, or any Go program
//	     └───────────────── edge/api ───────────────────┘
//
// Times are RFC 3339 in UTC, windows and ages are seconds, ratios and shares are from 0 to 1. Keys
// are strings of printable ASCII in which every other byte, and the backslash, stands as \xNN: see
// EscapeKey. The package imports only the standard library, so a client of the listener brings
// nothing else along.
package api
