// Package snapshot holds the values in which a gate's state outlives a restart: edge/gate makes and
// takes them, edge/state/codec writes them as bytes.
//
//	gate.Snapshot ──► Snapshot ──► codec ──► file ──► codec ──► Snapshot ──► gate.Restore
package snapshot

import (
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/mitigation/override"
	"github.com/headgate-dev/headgate/window"
)

// Snapshot is the state of a gate that outlives a restart. Times are Unix microseconds of the wall
// clock, and keys are bytes: instants and indices have no meaning in another process.
type Snapshot struct {
	Written int64 // time at which it was taken
	Stopped bool  // taken at a stop: nothing was admitted after it
	// Digests names the digest key under which keys were made; zero: not known.
	Digests   [8]byte
	Overrides []override.Override
	Limits    []override.Override // of keys, by hand
	Rules     []Rule
	Flags     []Flag
	Strikes   []Strikes
	Counts    []Count
}

// Strikes is the blocks of a key by its rule's ladder.
type Strikes struct {
	Rule   int // index into Snapshot.Rules
	Key    []byte
	Number uint8 // 1 or more
	Forget int64 // time at which they are forgotten
}

// Rule is a rule as it was when its flags and counts came about.
type Rule struct {
	Name   string
	Window time.Duration // whole milliseconds
	Shadow bool
}

// Flag is a flag that does not follow from an override in Snapshot.Overrides. Its fields
// are those of mitigation.Flag.
type Flag struct {
	Rule           int // index into Snapshot.Rules
	Key            []byte
	Action         mitigation.Action
	Ratio          mitigation.Ratio
	Source         mitigation.Source
	Since, Until   int64
	Origin, Reason string
}

// Count is the cost admitted to a key.
type Count struct {
	Rule     int // index into Snapshot.Rules
	Key      []byte
	Refusing bool  // a request of it was refused in the window
	Asked    int64 // cost offered in the window
	// the number by which the key was judged; zero: the rule's
	Number mitigation.Number
	Marks  []Mark // oldest first
	// Ring and Global are known; the first version of the state file lacks them
	Apart  bool
	Ring   window.RingSnapshot // totals of the ring that Marks already include
	Global control.Snapshot    // counts of other PoPs that Marks already include
}

// Mark is admitted cost, the last unit of it admitted at At, in Unix microseconds.
type Mark struct{ At, Units int64 }
