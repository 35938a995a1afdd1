package mitigation

import (
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

// value orders flags by what is lost when one is forgotten: an operator's word is worth most, a block
// more than a shedding that the next refusal would note again, and a longer one more than a shorter.
func (f *Flag) value() int64 {
	worth := int64(f.Until) >> 2
	if f.Action != Shed {
		worth += 1 << 61
	}
	if f.Source == Manual {
		worth += 1 << 62
	}
	return worth
}
