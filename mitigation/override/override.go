package override

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/headgate-dev/headgate/mitigation"
)

// Verb is the instruction of an override.
type Verb uint8

// The verbs. Their numbers are on the wire.
const (
	Lift  Verb = 1 // end any earlier override
	Allow Verb = 2 // never refuse
	Block Verb = 3 // refuse everything
	// Of limits, which a set of their own holds.
	Limit Verb = 4 // another limit in place of the rule's
	Unset Verb = 5 // end any earlier limit
	// Of policies, which a set of their own holds.
	Apply    Verb = 6 // put a policy in force; Rule is the name of the policy
	Withdraw Verb = 7 // end any earlier Apply
)

// Bounds of an override's fields, at the issuing node and at every receiving node.
const (
	MinTTL    = time.Second
	MaxTTL    = 30 * 24 * time.Hour
	MaxLimit  = 366 * 24 * time.Hour // of a limit, in place of MaxTTL
	MaxApply  = 24 * time.Hour       // of a policy
	MaxPolicy = 512                  // bytes: a record fits a packet
	MaxNode   = 253                  // bytes
	MaxWho    = 64                   // bytes
	MaxReason = 256                  // bytes
	MaxEarly  = 2 * time.Minute      // lead of Issued over the receiver's clock
)

// The reasons for refusing an override.
var (
	ErrBad   = errors.New("override: malformed record")
	ErrEarly = errors.New("override: issued in the future")
	ErrOver  = errors.New("override: expired")
	ErrRoom  = errors.New("override: table full of overrides that last longer")
)

// Override is an operator's instruction for a key of a rule, replicated to all nodes. An Override
// never changes on the way except for Keep, which only grows. Times are Unix milliseconds by the
// clock of the issuing node.
//
//	written by Set.Issue, for the admin API
//	read by    Set.Merge on every node, and the gate, which sets a Manual flag while it is InForce
type Override struct {
	Rule   string // [A-Za-z0-9_.-]{1,64}; a receiver need not have the rule
	Key    []byte // 1..MaxKey bytes
	Verb   Verb
	Issued int64             // above 0
	Until  int64             // Issued + MinTTL..MaxTTL; for Lift: Issued
	Keep   int64             // Until..Issued + MaxTTL: until then a replaced override could return
	Node   string            // where it was issued, 1..MaxNode printable bytes
	Who    string            // the operator, at most MaxWho printable bytes
	Reason string            // for people, at most MaxReason printable bytes
	Number mitigation.Number // of Limit
	Policy []byte            // of Apply, 1..MaxPolicy bytes; their meaning is the node's
}

// OfLimit reports whether o is of a limit, not of a block or an allow.
func (o *Override) OfLimit() bool { return o.Verb == Limit || o.Verb == Unset }

// OfPolicy reports whether o is of a policy.
func (o *Override) OfPolicy() bool { return o.Verb >= Apply }

// ends reports whether o ends an earlier override.
func (o *Override) ends() bool { return o.Verb == Lift || o.Verb == Unset || o.Verb == Withdraw }

// longest returns the longest time for which o may hold, milliseconds.
func (o *Override) longest() int64 {
	switch {
	case o.OfLimit():
		return MaxLimit.Milliseconds()
	case o.OfPolicy():
		return MaxApply.Milliseconds()
	}
	return MaxTTL.Milliseconds()
}

// Action returns the action of o's flag. For Allow and Block.
func (o *Override) Action() mitigation.Action {
	if o.Verb == Allow {
		return mitigation.Allow
	}
	return mitigation.Block
}

// InForce reports whether o sets a flag, or a limit, at now, Unix milliseconds.
func (o *Override) InForce(now int64) bool { return !o.ends() && o.Until > now }

// Compare orders two overrides of a key over all fields. The greater wins on every node alike: the
// newer, or of two from the same millisecond an arbitrary but fixed choice.
func (o *Override) Compare(v *Override) int {
	return cmp.Or(
		cmp.Compare(o.Issued, v.Issued), strings.Compare(o.Node, v.Node),
		cmp.Compare(o.Verb, v.Verb),
		cmp.Compare(o.Until, v.Until), strings.Compare(o.Who, v.Who),
		strings.Compare(o.Reason, v.Reason), o.Number.Compare(v.Number),
		bytes.Compare(o.Policy, v.Policy),
	)
}

// check returns an ErrBad for a field out of bounds, whatever the time.
func (o *Override) check() error {
	longest := o.Issued + o.longest()
	switch {
	case !ruleName(o.Rule):
		return bad("rule")
	case len(o.Key) < 1 || len(o.Key) > mitigation.MaxKey:
		return bad("key")
	case o.Verb < Lift || o.Verb > Withdraw:
		return bad("action")
	case o.Issued <= 0 || longest < 0:
		return bad("time of issue")
	case o.ends() && o.Until != o.Issued,
		!o.ends() && o.Until < o.Issued+MinTTL.Milliseconds(), o.Until > longest:
		return bad("end")
	case o.Keep < o.Until || o.Keep > longest:
		return bad("time to keep")
	}
	if n := o.Number; o.Verb == Limit && (n.Limit < 1 || n.Limit > mitigation.MaxLimit ||
		n.Burst < 0 || n.Burst > mitigation.MaxLimit) {
		return bad("limit")
	}
	if o.Verb == Apply && (len(o.Policy) < 1 || len(o.Policy) > MaxPolicy) {
		return bad("policy")
	}
	return o.checkText()
}

func (o *Override) checkText() error {
	switch {
	case o.Node == "" || !printable(o.Node, MaxNode):
		return bad("node")
	case !printable(o.Who, MaxWho):
		return bad("who")
	case !printable(o.Reason, MaxReason):
		return bad("reason")
	}
	return nil
}

func bad(field string) error { return fmt.Errorf("%w: %s out of bounds", ErrBad, field) }

// printable reports whether text has at most limit bytes, all of printable characters.
func printable(text string, limit int) bool {
	return len(text) <= limit && utf8.ValidString(text) &&
		!strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// ruleName reports whether name is valid for a rule.
func ruleName(name string) bool {
	return name != "" && len(name) <= mitigation.MaxRuleName &&
		!strings.ContainsFunc(name, func(r rune) bool {
			letter := r|0x20 >= 'a' && r|0x20 <= 'z'
			return !letter && (r < '0' || r > '9') && !strings.ContainsRune("_.-", r)
		})
}
