package verdict_test

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/door/verdict"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// TestNumbers: the reset is the same wherever in a tick of the window an answer is given, also
// where the window ends with a second.
func TestNumbers(t *testing.T) {
	t.Parallel()
	rule := mitigation.Rule{Limit: 7, Window: 4 * time.Hour}
	began := time.Unix(1_000_000, 0)
	f := verdict.Form{Wall: func(i window.Instant) time.Time { return began.Add(time.Duration(i)) }}
	for name, want := range map[string][2]bool{
		"": {}, "both": {false, true}, "x-ratelimit": {true, true},
	} {
		if f.Choose(name); f.NoDraft != want[0] || f.X != want[1] {
			t.Errorf("%s: %v, %v", name, f.NoDraft, f.X)
		}
	}
	tick := window.Tick(rule.Window)
	for into := time.Duration(0); into < tick; into += tick / 8 {
		d := gate.Decision{Rule: &rule, Remaining: 3, Reset: rule.Window - tick}
		now := window.Instant(tick + into) // of an admission at 0
		if got := f.Numbers(&d, now); got != [3]int64{7, 3, 1_014_400} {
			t.Errorf("%v into a tick: %d", into, got)
		}
	}
	block := gate.Decision{
		Rule: &rule, Deny: true, Why: mitigation.ByBlock, Retry: 1500 * time.Millisecond,
	}
	if got := f.Numbers(&block, 0); got != [3]int64{7, 0, 1_000_002} {
		t.Errorf("blocked: %d", got)
	}
}
