package replay

import (
	"time"

	"github.com/headgate-dev/headgate/window"
)

const (
	sweepBusy = 256 // requests after which a sweep is due that soon

	// stepsPerLine is the share of a sweep, in cells and slots, that each line of the log pays for.
	// A sweep of the default 64 MiB is paid off after about 7,000 lines: until then the keys that
	// went idle hold about 6 % of the slots at most. Half of the slots may be held before any key
	// goes without a slot.
	stepsPerLine = 256
)

// upkeep decides when a node is swept during a replay. A sweep falls due by the log's time, but the
// cost goes by the size of the memory. Over a log of years, sweeping each time would cost far more
// than the requests, so a due sweep is left out until the lines since the last sweep have paid for
// that. Counts are exact without any sweep: fewer sweeps only leave slots with keys that went idle.
type upkeep struct {
	turned  window.Instant // when a sweep last fell due
	unswept int            // requests since then
	owed    int            // steps of the last sweep no line has paid for yet
}

// step takes the log's time on to now, by a request under a rule with window, and sweeps j if a
// sweep is due and paid for.
func (u *upkeep) step(j judge, now window.Instant, over time.Duration) {
	u.owed = max(0, u.owed-stepsPerLine)
	u.unswept++
	since := now.Sub(u.turned)
	// windows between two sweeps with fewer requests
	// of the log's time, as the daemon does by the clock
	if since < (100*time.Millisecond) || u.unswept < sweepBusy && since < 5*over {
		return
	}
	u.turned, u.unswept = now, 0
	if u.owed == 0 {
		u.owed = j.Sweep(now)
	}
}

// stay is for how long a key has been asking without losing the slot for being idle.
type stay struct{ since, last window.Instant }

// visit notes a request at now and returns the beginning of the stay. The stay ends if the key was
// idle for the whole window when a sweep last fell due, at the instant turned, even if the sweep
// was left out: the oracle's figures do not depend on the memory then.
func (s *stay) visit(now, turned window.Instant, over time.Duration) window.Instant {
	if turned.Sub(s.last) >= over {
		s.since = now
	}
	s.last = now
	return s.since
}
