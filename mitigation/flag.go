package mitigation

import (
	"bytes"

	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
)

// Source is by whose word a flag stands. A greater one overrules a lesser.
type Source uint8

// The sources, weakest first.
const (
	Self   Source = iota // this node's own count
	Ring                 // what all nodes of the PoP counted
	Gossip               // what all PoPs counted
	Manual               // an operator
)

// Flag is an entry of the mitigation table: this key of this rule is being shed, blocked or let through.
type Flag struct {
	Index  sketch.Index // of the key under its rule, in this process
	Rule   string
	Key    []byte
	Action Action
	Ratio  Ratio // enforced share; 0 for a rule that its own exact count decides
	Source Source
	Origin string // who, for Manual; for Gossip the PoP that added up
	Reason string
	Since  window.Instant
	Until  window.Instant
}

// Weight is what is lost when a flag of f's kind is forgotten, 0 to 3: an operator's word weighs most, and a block more than
// a shedding that the next refusal would note again.
func (f *Flag) Weight() (w int) {
	if f.Action != Shed {
		w++
	}
	if f.Source == Manual {
		w += 2
	}
	return w
}

// value orders flags by their weight, and a longer one of a kind above a shorter.
func (f *Flag) value() int64 { return int64(f.Weight())<<61 + int64(f.Until)>>2 }

// Clone returns f with a key of its own.
func (f *Flag) Clone() Flag {
	c := *f
	c.Key = bytes.Clone(f.Key)
	return c
}
