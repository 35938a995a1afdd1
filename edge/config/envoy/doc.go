// Package envoy reads the YAML of envoyproxy/ratelimit, as its own loader does: several documents
// of a file are its first, of repeated keys the last holds, anchors and merge keys are followed,
// and a known key in a place where it means nothing is taken. Unlike there, all faults are found,
// with their lines.
//
//	files ─► YAML nodes ─► descriptors ─► rls.Tree
//	                 └──────────┴───────► faults
package envoy
