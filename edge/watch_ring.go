package edge

import (
	"context"
	"log/slog"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/health"
	"github.com/headgate-dev/headgate/edge/pop"
)

// watchRing logs how the ring changes, until ctx ends.
func (n *Node) watchRing(ctx context.Context) {
	w := ringWatch{log: n.log}
	gate.Every(ctx, time.Second, func(now time.Time) {
		w.look(now, n.flusher.Stats(n.gate.Now()))
	})
}

// ringWatch remembers the state of the ring logged last.
type ringWatch struct {
	log     *slog.Logger
	clock   change
	servers []change
}

// change is something well or not.
type change struct {
	bad bool
	at  time.Time // when it was last logged; zero: never
}

// to sets the present state, and reports whether to log.
func (c *change) to(now time.Time, bad bool) bool {
	// how often at most a change of a server, or of the clock, is logged: a change coming and going
	// must not fill a disk. The state at the end of the time is logged then.
	if bad == c.bad || now.Sub(c.at) < (10*time.Second) {
		return false
	}
	c.bad, c.at = bad, now
	return true
}

// look logs the changes since the last line: of each server, lost or back, and of the clock. While
// the clocks are compared the last state stands.
func (w *ringWatch) look(now time.Time, s pop.Stats) {
	if w.servers == nil {
		w.servers = make([]change, len(s.Servers))
	}
	for i, server := range s.Servers {
		if !w.servers[i].to(now, server.Lost) {
			continue
		}
		if server.Lost {
			w.log.Warn("ring: server lost, failure_mode applies to its keys",
				"server", api.EscapeKey([]byte(server.Address)), "silent",
				server.Silent.Round(time.Millisecond), "error",
				api.EscapeKey([]byte(server.LastError)))
		} else {
			w.log.Info("ring: server back", "server", api.EscapeKey([]byte(server.Address)))
		}
	}
	apart := s.Clock == health.ClockApart || s.Clock == health.ClockComparing && w.clock.bad
	if !w.clock.to(now, apart) {
		return
	}
	if apart {
		w.log.Warn("ring: this node's clock " + api.ClockApart(s.Skew) + ": counting alone")
	} else {
		w.log.Info("ring: this node's clock agrees with the ring's again: sharing counts")
	}
}
