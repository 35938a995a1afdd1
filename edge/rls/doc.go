// Package rls holds the limits of envoyproxy/ratelimit's configuration, and finds the limit of a
// descriptor: at each entry key and value exactly, else by the first wildcard of the file, else by
// the key alone, and at the last entry only.
//
//	its YAML ─► edge/config/envoy ─► Tree ─► Domain ─► Walk.Step, once an entry ─► Limit
//	                                   └──► Rules, for the gate
//
// It asks nobody and counts nothing. A Tree does not change once it is made.
package rls
