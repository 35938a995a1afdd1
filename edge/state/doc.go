// Package state keeps a gate's memory in a file over a restart: operators' overrides, flags, and
// the counts of flagged keys or near their limits. So a killed node refuses the same clients again
// at once.
//
//	before the doors open:       file → readState → codec.Decode → Gate.Restore
//	each second, and at a stop:  Gate.Snapshot → codec.Encode → temporary file → fsync → rename
//
// The file gives up completeness. It may be a second old, and counts far from their limit are not
// in it. Restoring assumes that a refused key went on asking in that second, so a restart is no way
// to gain quota. Over codec.MaxBytes bytes, counts are dropped first and then flags.
//
// The package must never delay a decision, use a file that is torn, foreign or writable by others,
// or fail the start: a node without its file starts empty and says so in the log.
//
// A directory is a single node's. Two nodes with the same directory would each restore the state of
// the other.
package state
