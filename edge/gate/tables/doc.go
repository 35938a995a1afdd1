// Package tables holds what a gate knows of a key beside its count: the clients behind the key, and
// the narrower keys that asked under it. Both tables are bounded, and safe for concurrent use.
package tables
