package verdict

import (
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// Form is the headers with the numbers of a decision, as `headers` of the configuration chooses.
// The zero Form is RateLimit and RateLimit-Policy of draft-10.
type Form struct {
	NoDraft, X bool // X: X-RateLimit-Limit, -Remaining and -Reset
	Wall       func(window.Instant) time.Time
}

// Choose sets the headers: x-ratelimit, both, or draft-10 by every other name.
func (f *Form) Choose(name string) {
	f.NoDraft = name == "x-ratelimit"
	f.X = f.NoDraft || name == "both"
}

// Numbers returns the limit, the rest and the reset of d, decided at now. The reset is the Unix
// second, rounded up, in which some of the count leaves: the same in all answers until then.
func (f *Form) Numbers(d *gate.Decision, now window.Instant) [3]int64 {
	v, wait := Of(d), d.Reset
	if wait == 0 {
		wait = d.Retry
	}
	at := now.Add(wait)
	if d.Rule.Kind == mitigation.Window { // admissions are remembered in whole ticks
		at -= at % window.Instant(window.Tick(d.Rule.Window))
	}
	unit := d.Rule.Parts() // fields of whole numbers
	reset := f.Wall(at).Add(time.Second - 1).Unix()
	return [3]int64{d.Rule.Quota() / unit, v.Remaining / unit, reset}
}
