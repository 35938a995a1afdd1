package mitigation

import "github.com/headgate-dev/headgate/window"

// Why is the ground of a refusal.
type Why uint8

// The grounds, in the order they are tried.
const (
	Unrefused Why = iota
	ByBlock       // a live block flag
	ByShed        // a live drop ratio
	ByLimit       // admitted + cost would pass the limit
)

var whyNames = [...]string{Unrefused: "", ByBlock: "block", ByShed: "shed", ByLimit: "limit"}

// String returns the word answers use; empty when nothing was refused.
func (w Why) String() string { return whyNames[w] }

// Effect is what a live flag does to a request now; the zero Effect is that of none. It has four fields at most: the compiler
// keeps larger structs in memory, which cost a decision 20 ns.
type Effect struct {
	Action Action
	Ratio  Ratio
	Until  window.Instant
	place  uint32 // of the flag in its table
}

// Live reports whether there is a flag.
func (e Effect) Live() bool { return e.Until != 0 }

// Ruling is what the flag alone says of a request.
type Ruling uint8

// The rulings of a flag.
const (
	AskCount Ruling = iota // nothing: the count decides
	LetPass                // allowed by hand, whatever was counted
	Stop                   // refused, whatever was counted
)

// ByFlag judges a request by its key's flag, as the contract orders it: an allow flag allows, a block
// flag refuses, a ratio refuses the share of requests it names. u is 64 random bits of this request.
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

// ByLoss judges a request whose view is lost and whose flag says nothing: by the rule's failure mode.
func ByLoss(r *Rule) (Ruling, Why) {
	switch r.FailureMode {
	case FailAllow:
		return LetPass, Unrefused
	case FailDeny:
		return Stop, ByLimit
	}
	return AskCount, Unrefused
}

// Verdict is the answer to one request.
type Verdict struct {
	Deny   bool
	Shadow bool // allowed only because the rule is in shadow
	Why    Why  // of the refusal, also of one that shadow held back
}

// Judge turns the ground of a refusal (Unrefused: there is none) into the verdict of rule r: shadow goes
// the same way as enforce and changes only the answer.
func Judge(r *Rule, why Why) Verdict {
	refused := why != Unrefused
	return Verdict{
		Deny:   refused && r.Mode == Enforce,
		Shadow: refused && r.Mode == Shadow,
		Why:    why,
	}
}
