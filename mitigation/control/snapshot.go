package control

import (
	"unsafe"

	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/moments"
)

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

// Bytes returns how much memory a takes, entries of maps as large as they are in the mean.
func (a *Aggregate) Bytes() int {
	const lump = int(unsafe.Sizeof(moments.Lump{}))
	all := BytesOf(len(a.order)) + cap(a.trailing.bins)*int(unsafe.Sizeof(bin{})) +
		cap(a.shares.demands)*8 + lump*cap(a.moments)
	for _, o := range a.order {
		all += lump * (cap(o.report.Moments) + cap(o.moments) + cap(o.byTimes))
	}
	return all
}

// BytesOf returns how much memory an Aggregate of so many origins takes, without lists.
func BytesOf(origins int) int {
	const entry = 64
	return int(unsafe.Sizeof(Aggregate{})) + origins*(int(unsafe.Sizeof(origin{}))+entry)
}
