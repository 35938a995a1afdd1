package ask

import (
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/mitigation"
)

// Why is the ground of an answer.
type Why uint8

// The grounds of an answer.
const (
	ByRules  Why = iota // the questions; the decision has more
	ByNone              // no policy matched: allow
	BySkip              // a policy takes the request out: allow
	ByPolicy            // a policy denies it
	ByLoad              // a pool it needs is too busy: deny
	ByUnfit             // it is longer, or has more parts, than is read: deny, or in shadow allow
	ByShadow            // only rules in shadow were asked: allow
)

// whyWords are the reasons of answers no rule gives, in the order of their numbers.
var whyWords = [...]string{"", "none", "skip", "policy", "load", "unfit", "shadow"}

// String returns the word of answers; "" for ByRules, with the reason in the decision.
func (w Why) String() string { return whyWords[w] }

// Answer is the answer to a whole request. All doors translate from Answer, so a door has nothing
// to decide.
type Answer struct {
	Why    Why
	Deny   bool
	Shadow bool          // something in shadow would have denied
	Trial  string        // the first policy in shadow that would have denied by itself; "": none
	Status int           // for a denial, 400..599
	Unfit  request.Unfit // of ByUnfit: for what
	Policy string        // of BySkip and ByPolicy: its name
	// of ByRules: the answering question; valid until the next request
	By     *gate.Decision
	View   mitigation.Scope // of ByShadow: nodes whose counts the first question rests on
	Pool   string           // of ByLoad: its name
	Ratio  mitigation.Ratio // of ByLoad: the share of such requests it denies
	Ticket uint64           // the response is to be reported with it; 0: none
	// the request passes, and is to wait for so long first; only with Session.CanWait
	Delay time.Duration
	// there was no lease left for some rule: the failure mode decided
	Full bool

	// Of on_deny of the policy of the answering question, or of the denying policy:
	Silent bool // the answer names no rule and no numbers
	// Deny is false, and the sender is to do nothing and answer as if all were well; only with
	// Session.CanDeceive
	Deceive bool
	Body    string // of a denial, for doors carrying one; "": the usual
}

// The statuses of a denial unless a policy says otherwise.
const (
	statusDenied = 429
	statusShed   = 503
)

// StatusOf returns the status of a denial for why. A reserve kept for others is this side's
// shortage, and not the client's fault.
func StatusOf(why mitigation.Why) int {
	if why == mitigation.ByReserve {
		return statusShed
	}
	return statusDenied
}

// denied gives a, which denies, the form of o.
func (s *Session) denied(a *Answer, o *policy.OnDeny) {
	if o.Status != 0 {
		a.Status = o.Status
	}
	a.Silent, a.Body = o.Silent, o.Body
	if o.Deceive && s.CanDeceive {
		a.deceive()
		s.pretends = true
	}
}

// deceive makes a, a denial, a false allow.
func (a *Answer) deceive() {
	a.Deny, a.Deceive, a.Silent, a.Status, a.Body = false, true, true, 0, ""
}
