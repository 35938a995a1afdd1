package global

import (
	"log/slog"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/gossip"
)

// standing says whether packets of other nodes arrive, and are used.
type standing uint8

// The states.
const (
	alone standing = iota // none, for a moment
	heard                 // packets of other nodes are used
	// packets arrive and none is used: the clocks of the other nodes differ from this node's
	skewed
	silent // none for so long the failure modes act
)

// watch logs changes of the other PoPs. Package gossip logs that members differ, with their names;
// a watch logs the end of a difference. For a single goroutine.
type watch struct {
	log       *slog.Logger
	lostAfter time.Duration // shown when the state becomes silent
	is        standing
	at        time.Time // when it was last logged; zero: never
	differs   map[string]time.Time
}

// newWatch returns a watch that logs to log and begins alone. lostAfter is the time without other
// nodes after which the caller says Silent.
func newWatch(log *slog.Logger, lostAfter time.Duration) *watch {
	return &watch{log: log, lostAfter: lostAfter}
}

// Look logs the changes since the last line. It is to be called about once a second, with the state
// at now and the statistics of gossip.
func (w *watch) Look(now time.Time, is standing, s gossip.Stats) {
	// the least time between two logged changes of the state: a fault coming and going must not
	// fill a disk.
	if is != w.is && now.Sub(w.at) >= (10*time.Second) {
		w.is, w.at = is, now
		w.logState(s)
	}
	w.differ(now, "ring servers", s.Mismatches.Ring)
	w.differ(now, "rules", s.Mismatches.Rules)
	w.differ(now, "wire version", s.Mismatches.Wire)
}

// logState logs the peer state.
func (w *watch) logState(s gossip.Stats) {
	nodes, pops := 0, 0
	for _, p := range s.PoPs {
		nodes += p.Alive
		if p.Alive > 0 {
			pops++
		}
	}
	switch w.is {
	case heard:
		w.log.Info("gossip: other nodes are connected, global rules apply across all of them",
			"nodes", nodes, "pops", pops)
	case alone:
		w.log.Warn("gossip: no records from other nodes", "joinError",
			api.EscapeKey([]byte(s.JoinError)))
	case skewed:
		w.log.Warn("gossip: records of other nodes are rejected because their clocks are more "+
			"than a minute from this node's: is NTP running?",
			"nodes", nodes, "pops", pops)
	case silent:
		w.log.Warn("gossip: lost, no trusted record from another node for too long: failure_mode "+
			"of global rules applies",
			"silent", w.lostAfter, "joinError", api.EscapeKey([]byte(s.JoinError)))
	}
}

// differ notes how many members differ in a property, and logs when none does any more.
func (w *watch) differ(now time.Time, thing string, count int) {
	since, did := w.differs[thing]
	switch {
	case count > 0 && !did:
		if w.differs == nil {
			w.differs = make(map[string]time.Time)
		}
		w.differs[thing] = now
	case count == 0 && did:
		delete(w.differs, thing)
		// how long members must have differed for gossip to have said so.
		if now.Sub(since) >= (30 * time.Second) {
			w.log.Info("gossip: all members have the same "+thing+" again", "after",
				now.Sub(since).Round(time.Second))
		}
	}
}
