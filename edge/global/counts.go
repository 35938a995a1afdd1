package global

import (
	"time"

	"github.com/headgate-dev/headgate/gossip/counts"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// usedUp has the table of counts asked about keys of r that are new here.
func (l *Link) usedUp(r mitigation.Rule) func(window.Instant, []byte) window.Instant {
	if !r.ByCounts() {
		return nil
	}
	return func(now window.Instant, key []byte) window.Instant {
		wall := time.Duration(l.gate.Wall(now).UnixNano()-int64(now)) - l.gate.Offsets().Applied()
		return l.counts.UsedUp(&counts.Query{
			Now: now, Wall: wall, Rule: r.Name, Limit: r.Limit,
			Window: r.Window, Key: key,
		})
	}
}
