package explain

import (
	"fmt"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
)

// viewPlaces fills in the places of the key under a rule of kind concurrency, and has the texts
// speak of places. There are no counts over a window.
func (c *explanation) viewPlaces(g *gate.Gate, v *api.ExplainView) {
	v.Places = &api.KeyPlacesView{Taken: c.Count.Used, Leases: len(c.Leases)}
	v.SubWindows, v.ErrorBound, v.Confidence, v.NoiseFloor,
		v.PromoteAt = []api.SubWindowView{}, 0, 0, 0, 0
	if len(c.Leases) > 0 {
		since, until := g.Shown(c.Leases[0].Since), g.Shown(c.Leases[0].Until)
		v.Places.Oldest, v.Places.Until = &since, &until
	}
	if c.Rule.Mode == mitigation.Off || c.Flag != nil {
		return
	}
	v.Sentences = []string{
		c.verdictSays(), c.takenSays(),
		fmt.Sprintf("There is room for %d more at the same time.", c.Decision.Remaining),
	}
	if c.why() != mitigation.Unrefused {
		v.LiftedBy = "a request of this key that ends, or in " +
			Span(c.oldestLeft()) + " the end of its oldest lease"
		v.Sentences[2] = "There is room again when a request of this key ends; its oldest lease " +
			"ends in " + Span(c.oldestLeft()) + " at the latest."
	}
}

// oldestLeft returns the time until the key's oldest lease ends.
func (c *explanation) oldestLeft() time.Duration {
	if len(c.Leases) == 0 {
		return 0
	}
	return c.Leases[0].Until.Sub(c.now)
}

// takenSays states how many places are taken.
func (c *explanation) takenSays() string {
	if len(c.Leases) == 0 {
		return fmt.Sprintf("It holds none of its %d places.", c.Rule.Limit)
	}
	return fmt.Sprintf("It holds %d of its %d places by %s; the oldest began %s ago.",
		c.Count.Used, c.Rule.Limit, plural(api.Amount(len(c.Leases)), "lease", "leases"),
		Span(c.now.Sub(c.Leases[0].Since)))
}
