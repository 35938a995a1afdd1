package mitigation

import (
	"bytes"

	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
)

// Source is the origin of a flag. A greater overrules a lesser.
type Source uint8

// The sources, weakest first.
const (
	Self   Source = iota // this node's own count
	Ring                 // the count of all nodes of the PoP
	Gossip               // the count of all PoPs
	Manual               // an operator
)

// Flag is an entry of the mitigation table: this key of this rule is shed, blocked or let through.
//
//	written by  the gate: from its own count, from the PoP's totals, from Advice, from an Override
//	read by     the decision, as an Effect; the admin pages and the state file, as a copy
type Flag struct {
	Index  sketch.Index // of the key under its rule, in this process
	Rule   string
	Key    []byte
	Action Action
	Source Source
	// Strikes are the blocks of the key by its rule's ladder, the present included; 0: the rule has
	// none.
	Strikes uint8
	Ratio   Ratio  // drop ratio; 0 for a rule decided by its own exact count
	Origin  string // Manual: the operator; Gossip: the owner's PoP
	Reason  string
	Since   window.Instant
	Until   window.Instant
	Forget  window.Instant // when the strikes are forgotten; 0: there are none
}

// Weight is the loss of forgetting f, 0..3: an operator's flag weighs most, and a block more than a
// shed flag, which the next refusal would set again.
func (f *Flag) Weight() (w int) {
	if f.Action != Shed {
		w++
	}
	if f.Source == Manual {
		w += 2
	}
	return w
}

// value orders flags by weight, and flags of equal weight by end.
func (f *Flag) value() int64 { return int64(f.Weight())<<61 + int64(f.Until)>>2 }

// Clone returns a copy of f with a copied key.
func (f *Flag) Clone() Flag {
	c := *f
	c.Key = bytes.Clone(f.Key)
	return c
}
