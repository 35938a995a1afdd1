package verdict

import (
	"strconv"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
)

// The words of the protocols, by value. They are the same in headers, JSON and variables, and are
// read only.
var (
	Whys = [...][]byte{
		mitigation.Unrefused: {}, mitigation.ByBlock: []byte("block"),
		mitigation.ByShed: []byte("shed"), mitigation.ByLimit: []byte("limit"),
		mitigation.ByReserve: []byte("reserve"), mitigation.ByPending: []byte("pending"),
		mitigation.ByCost: []byte("cost"),
	}
	Views = [...][]byte{
		mitigation.Node: []byte("node"), mitigation.PoP: []byte("pop"),
		mitigation.Global: []byte("global"),
	}
)

// Verdict is a decision in the units of the protocols: durations in whole seconds, rounded up.
type Verdict struct {
	Deny, Shadow bool
	Why          mitigation.Why
	View         mitigation.Scope
	Ratio        mitigation.Ratio
	Blast        int    // about how many clients a block would deny, where it sheds instead
	Remaining    int64  // in parts of the rule's Scale
	Reset, Retry uint32 // seconds
	Delay        uint32 // milliseconds for which a request passing is to wait first
}

// Of returns d as a verdict with consistent numbers, which clients may rely on: Remaining is never
// negative; a denial has Retry >= 1 and Retry >= Reset > 0, so no quota is promised before the
// retry. Retry of a cost above the limit is 0: there is none.
func Of(d *gate.Decision) Verdict {
	v := Verdict{
		Deny: d.Deny, Shadow: d.Shadow, Why: d.Why, View: d.View, Ratio: d.Ratio, Blast: d.Blast,
		Remaining: max(d.Remaining, 0),
		Reset:     api.WholeSeconds(d.Reset), Delay: api.WholeMillis(d.Delay),
	}
	if v.Deny && v.Why != mitigation.ByCost {
		v.Retry = max(api.WholeSeconds(Wait(d)), 1)
		if v.Reset == 0 {
			v.Reset = v.Retry
		}
	}
	return v
}

// Silent reports whether the rule of d is in shadow: visitors read no number of such a rule, even
// where a program names the rule.
func Silent(d *gate.Decision) bool { return d.Rule.Mode == mitigation.Shadow }

// Wait returns how long who is denied by d is to wait: until its retry, and until nothing is used
// up any more, which d makes as much later as the retry.
func Wait(d *gate.Decision) time.Duration {
	if d.Late == 0 || d.Retry >= d.Reset {
		return max(d.Retry, d.Reset)
	}
	return mitigation.Spread(d.Reset, d.Rule.SpreadOf(true), d.Late)
}

// AppendRateLimit appends the value of the RateLimit header: "login";r=4;t=60
func AppendRateLimit(b []byte, text *Text, v Verdict) []byte {
	b = append(append(b, text.Name...), ";r="...)
	b = strconv.AppendInt(b, v.Remaining/text.unit, 10)
	b = append(b, ";t="...)
	return strconv.AppendUint(b, uint64(v.Reset), 10)
}

// Millis returns a delay in whole milliseconds, rounded up.
func Millis(d time.Duration) uint32 { return api.WholeMillis(d) }
