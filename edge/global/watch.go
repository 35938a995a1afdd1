package global

import (
	"log/slog"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/gossip"
)

// peerState says whether other nodes are heard.
type peerState uint8

const (
	peersAlone  peerState = iota // nobody, for a moment
	peersHeard                   // other nodes are
	peersApart                   // other nodes are, and none is believed: their clocks differ from this one's
	peersSilent                  // nobody for so long that the failure modes act
)

// watch logs changes of the other PoPs. That members differ is logged by gossip, which names them; here, that they no longer do.
type watch struct {
	log     *slog.Logger
	is      peerState
	at      time.Time // when it was last logged; zero: never
	differs map[string]time.Time
}

// changeAtMost is the least time between two logged changes of the peer state: one that comes and goes must not fill a disk.
const changeAtMost = 10 * time.Second

// differsFor is how long members must have differed for gossip to have said so.
const differsFor = 30 * time.Second

// look logs the changes since the last line.
func (w *watch) look(now time.Time, is peerState, s gossip.Stats) {
	if is != w.is && now.Sub(w.at) >= changeAtMost {
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
	case peersHeard:
		w.log.Info("gossip: other nodes are heard, global rules hold over all of them", "nodes", nodes, "pops", pops)
	case peersAlone:
		w.log.Warn("gossip: no other node is heard", "joinError", api.EscapeKey([]byte(s.JoinError)))
	case peersApart:
		w.log.Warn("gossip: the clocks of the other nodes are more than a minute from this one's, nothing they say is believed: is NTP running?",
			"nodes", nodes, "pops", pops)
	case peersSilent:
		w.log.Warn("gossip: no other node is heard and believed for long, the failure modes of global rules act",
			"silent", lostAfter, "joinError", api.EscapeKey([]byte(s.JoinError)))
	}
}

// differ notes how many members differ in one thing, and logs when none does any more.
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
		if now.Sub(since) >= differsFor {
			w.log.Info("gossip: all members have the same "+thing+" again", "after", now.Sub(since).Round(time.Second))
		}
	}
}
