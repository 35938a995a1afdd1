package control

import "github.com/headgate-dev/headgate/window"

// Snapshot is the control loop's part of a key in the state file: the counts of the key's log by
// this PoP and by others. Without the snapshot a restart would merge the others' counts twice, and
// report the node's own to nobody.
//
//	written by  Coordinator.Snapshot at shutdown
//	read by     Coordinator.Restore at the next start
type Snapshot struct {
	// Reported are the totals this origin has reported: the PoP's, or with Alone this node's.
	Reported window.Totals
	// Alone: the node counted the key without its PoP.
	Alone bool
	// Merged are the totals of other PoPs the key's log holds already.
	Merged window.Totals
}
