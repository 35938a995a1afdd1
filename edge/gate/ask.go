package gate

import (
	"bytes"
	"errors"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
)

// Op selects counting, deciding or both.
type Op uint8

// The operations.
const (
	Check Op = iota // count the cost as offered, decide, and count it as admitted if it passes
	Peek            // decide without counting
	Count           // count without deciding
	// Check of a rule of kind concurrency: the places the cost takes are held by a lease
	Acquire
)

// Ask is a question: may a request with this key pass under this rule? Rule and Key belong to the
// caller; the gate keeps no reference to Rule and Key after the decision.
type Ask struct {
	Op   Op
	Rule []byte // name of a rule
	Key  []byte // 1..256 bytes of any value
	Cost uint32 // 1..mitigation.MaxCost; 0 means 1
	// Millionths of a unit, beside Cost, for rules with a Scale. A decision restates both in parts
	// of the rule, as InParts says.
	Millionths uint32
	InParts    bool
	For        uint32 // seconds the lease of an Acquire lasts, at most those of its rule; 0: those
	Tier       []byte // of the request, for rules keeping a part of their limit for some; nil: none
	// Burst is the part of a bucket's burst the request may use up; 0: all. Above the part the
	// request is denied without a flag.
	Burst int64
	Wait  bool // the request can wait: under a rule with a delay it may be allowed for later
	// Whole says that a policy asks for a whole request: Retry is spread unless the rule says
	// NoSpread, and a Peek is among the requests of the figures.
	Whole bool
	// Parts are of the request; nil: none is known.
	Parts *Parts
	// Numbers are those of the rule, where the asker knows the key's: the one at Place, or with -1
	// the rule's own. nil: the rule finds the number, or the last judgement's holds.
	Numbers *mitigation.Numbers
	Place   int
	Policy  *string // name of the asking policy, for the past of the key; nil: there is none
}

// Parts are parts of a request beside the key, for some rules. Parts belong to the caller, like the
// key.
type Parts struct {
	// Narrower is the key of the narrower network the client is in, for a rule with Siblings: the
	// client asks under the key. nil: the request is not of a single client.
	Narrower []byte
	// ShedBy is the part by which a rule with ShedBy draws its drop ratio. nil: absent, or not
	// known; the ratio is drawn for the request.
	ShedBy []byte
	// Client is the client sending the request, for rules that count the clients of a block. nil:
	// not known.
	Client []byte
}

// Equal reports whether p and o are the same parts; nil is none.
func (p *Parts) Equal(o *Parts) bool {
	if p == nil || o == nil {
		return p == o
	}
	return bytes.Equal(p.Narrower, o.Narrower) && bytes.Equal(p.ShedBy, o.ShedBy) &&
		bytes.Equal(p.Client, o.Client)
}

// scale restates the cost of a in parts of r, and reports whether r takes such a cost.
func (a *Ask) scale(r *mitigation.Rule) (ok bool) {
	if ok = true; !a.InParts && (a.Millionths > 0 || r.Scale > 0) {
		a.Cost, ok = r.PartsOf(a.Cost, a.Millionths)
		a.Millionths, a.InParts = 0, ok
	}
	return ok
}

// cost returns the counted cost.
func (a *Ask) cost() int64 { return int64(max(a.Cost, 1)) }

// extra returns the cost above 1, in the arithmetic of a totals.Tally. A look denying has a cost,
// another none (-1): a report may count the request.
func (a *Ask) extra(o Outcome) uint64 {
	if a.Op == Peek && !o.Denies() {
		return ^uint64(0)
	}
	return uint64(a.cost() - 1) // at least 1
}

// ErrUnknownRule says that no rule in force has the name in Ask. Nothing was counted.
var ErrUnknownRule = errors.New("gate: unknown rule")

// ErrCost says that the cost has a point and the rule no Scale, or is above mitigation.MaxCost in
// parts of the rule. Nothing was counted.
var ErrCost = errors.New("gate: not a cost of this rule")

// ErrKind says that the rule is of a kind without such questions. Nothing was counted.
var ErrKind = errors.New("gate: not for this kind of rule")

// wrongKind is the outcome of a question outside the rule's kind.
const (
	wrongKind = Outcomes + 1
	wrongCost = Outcomes + 2
)

// kindError returns the error of an untallied outcome.
func kindError(o Outcome) error {
	switch o {
	case wrongKind:
		return ErrKind
	case wrongCost:
		return ErrCost
	}
	return nil
}

// Decision is the answer to an Ask. A Count, or a rule in mode off, gets no verdict: Deny is false.
type Decision struct {
	Rule      *mitigation.Rule // in force at the decision; read only, never changes
	Deny      bool             // refuse the request
	Shadow    bool             // it passes only because the rule is in shadow
	Why       mitigation.Why   // reason for Deny; Unrefused without
	View      mitigation.Scope // nodes whose counts the decision rests on
	Ratio     mitigation.Ratio // share of requests being dropped; of use only where Why is ByShed
	Remaining int64            // cost left in the trailing window, at least 0; 0 with Deny
	// until the whole limit is available again, at least 0; of leases without a release
	Reset time.Duration
	Retry time.Duration // until another attempt can succeed, at least 1 s; 0 unless Deny
	Late  uint64        // the random bits by which Retry was made longer; 0: it is exact
	Lease uint64        // number of the lease an Acquire took; 0: none
	// with ByShed of a rule that counts the clients of a block: about how many clients a block
	// would deny; else 0
	Blast int
	// the request passes, and is to wait for that long first; 0: it passes now
	Delay time.Duration
	// no lease could be taken, because there are none left: the failure mode decided
	Full bool
}

// NoteMisnamed records a request for a rule out of force, noticed by a door before Decide.
func (g *Gate) NoteMisnamed(name []byte) { g.misnamed.Note(name) }

// Misnamed returns the last unknown rule name since the last call, cut to 64 bytes, and about how
// many requests had an unknown name. The name consists of bytes from a client: escape the name
// before showing it.
func (g *Gate) Misnamed() (name string, count uint64) { return g.misnamed.Take() }
