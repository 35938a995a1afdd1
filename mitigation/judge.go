package mitigation

import (
	"time"

	"github.com/headgate-dev/headgate/window"
)

// Why is the reason for a refusal.
type Why uint8

// The reasons, in the order of trial.
const (
	Unrefused Why = iota
	ByBlock       // a live block flag
	ByShed        // a live drop ratio
	ByLimit       // admitted + cost would pass the limit
	// admitted + cost would pass the part of the limit open to the request's tier
	ByReserve
	ByPending // admitted + cost + the cost waiting for responses would pass the limit
	ByCost    // the cost is above the limit, or the burst: it never passes
)

// Reasons is the number of reasons, none included: each Why is below.
const Reasons = len(whyNames)

var whyNames = [...]string{
	Unrefused: "", ByBlock: "block", ByShed: "shed", ByLimit: "limit",
	ByReserve: "reserve", ByPending: "pending", ByCost: "cost",
}

// String returns the reason's name in answers; "" for none.
func (w Why) String() string { return whyNames[w] }

// Effect is the part of a live flag a decision needs; the zero Effect is no flag. Four fields at
// most: the compiler keeps larger structs in memory, which cost a decision 20 ns.
type Effect struct {
	Action Action
	Ratio  Ratio
	Until  window.Instant
}

// Live reports whether there is a flag.
func (e Effect) Live() bool { return e.Until != 0 }

// Blocks returns the remaining time of the block, 0 for none.
func (e Effect) Blocks(now window.Instant) time.Duration {
	if e.Action != Block {
		return 0
	}
	return max(0, e.Until.Sub(now))
}

// Ruling is the outcome of a flag, or of a failure mode, for a request.
type Ruling uint8

// The rulings of a flag.
const (
	AskCount Ruling = iota // none: the count decides
	LetPass                // allow, whatever the count
	Stop                   // refuse, whatever the count
)

// ByFlag judges a request by the key's flag: an allow flag allows, a block flag refuses, a ratio
// refuses a share of the requests. u is 64 random bits of this request.
func ByFlag(e Effect, u uint64) (Ruling, Why) {
	switch {
	case !e.Live():
		return AskCount, Unrefused
	case e.Action == Allow:
		return LetPass, Unrefused
	case e.Action == Block:
		return Stop, ByBlock
	case e.Ratio.Drops(u):
		return Stop, ByShed
	}
	return AskCount, Unrefused
}

// ByLoss judges a request by the rule's failure mode: the view is lost and the flag does not
// decide.
func ByLoss(r *Rule) (Ruling, Why) {
	switch r.FailureMode {
	case FailAllow:
		return LetPass, Unrefused
	case FailDeny:
		return Stop, ByLimit
	}
	return AskCount, Unrefused
}

// Verdict is the answer to a request.
type Verdict struct {
	Deny   bool
	Shadow bool // allowed only because the rule is in shadow
	Why    Why  // the reason, also of a refusal that shadow withheld
}

// Judge turns the reason for a refusal, or Unrefused, into the verdict of rule r. Shadow takes the
// same path as enforce and changes only the answer.
func Judge(r *Rule, why Why) Verdict {
	refused := why != Unrefused
	return Verdict{
		Deny:   refused && r.Mode == Enforce,
		Shadow: refused && r.Mode == Shadow,
		Why:    why,
	}
}
