package main

import (
	"log/slog"
	"time"

	"github.com/headgate-dev/headgate/gossip"
)

// outlook is who else is heard.
type outlook uint8

const (
	outlookAlone  outlook = iota // nobody, for a moment
	outlookHeard                 // others
	outlookSilent                // nobody for so long that the failure modes act
)

// worldWatch logs how the world changes. That members differ is logged by gossip, which names them; here, that they do no more.
type worldWatch struct {
	log     *slog.Logger
	is      outlook
	at      time.Time // when it was last logged; zero: never
	differs map[string]time.Time
}

// differsFor is how long members must have differed for gossip to have said so.
const differsFor = 30 * time.Second

// look logs what is other than it was when last logged, at most one line in changeAtMost of who is heard.
func (w *worldWatch) look(now time.Time, is outlook, s gossip.Stats) {
	if is != w.is && now.Sub(w.at) >= changeAtMost {
		w.is, w.at = is, now
		w.tell(s)
	}
	w.differ(now, "ring servers", s.Mismatches.Ring)
	w.differ(now, "rules", s.Mismatches.Rules)
	w.differ(now, "wire version", s.Mismatches.Wire)
}

func (w *worldWatch) tell(s gossip.Stats) {
	nodes, pops := 0, 0
	for _, p := range s.PoPs {
		nodes += p.Alive
		if p.Alive > 0 {
			pops++
		}
	}
	switch w.is {
	case outlookHeard:
		w.log.Info("gossip: other nodes are heard, global rules hold over all of them", "nodes", nodes, "pops", pops)
	case outlookAlone:
		w.log.Warn("gossip: no other node is heard", "joinError", safe(s.JoinError))
	case outlookSilent:
		w.log.Warn("gossip: no other node is heard for long, the failure modes of global rules act",
			"silent", span(worldLostAfter), "joinError", safe(s.JoinError))
	}
}

// differ notes that count members differ in what, and logs when none does any more.
func (w *worldWatch) differ(now time.Time, what string, count int) {
	since, did := w.differs[what]
	switch {
	case count > 0 && !did:
		if w.differs == nil {
			w.differs = make(map[string]time.Time)
		}
		w.differs[what] = now
	case count == 0 && did:
		delete(w.differs, what)
		if now.Sub(since) >= differsFor {
			w.log.Info("gossip: all members have the same "+what+" again", "after", span(now.Sub(since)))
		}
	}
}
