package edge

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/edge/live"
	"github.com/headgate-dev/headgate/window"
)

// How often what is seen live is made anew.
const (
	liveEvery = time.Second
	beatTurns = 15 // liveEvery between two beats of a stream
)

// watching is what keeps open pages up to date: one goroutine looks once a second, however many read.
//
//	flag table ─► changes ─► tell ─┬─► live.Hub ─► streams of /v1/events
//	node ─► picture ─► LiveView ──┘      └─► slog, a few lines a second
//	node ─► totals ─► live.History ─► /v1/history
type watching struct {
	edge  *Edge
	pop   string
	build Build
	log   *slog.Logger

	hub     live.Hub
	history live.History
	wake    chan struct{} // somebody came to watch, and there is no picture

	// What follows is run's.
	shown   window.Instant // when the last picture was made
	scanned *scan          // nil: not yet
	id      uint64         // of the last event

	sent, dropped, pictures atomic.Uint64
}

func newWatching(e *Edge, o AdminOptions) *watching {
	e.flags.Watch()
	return &watching{edge: e, pop: o.PoP, build: o.Build, log: o.Log, wake: make(chan struct{}, 1)}
}

// run looks until ctx ends, and then ends every stream.
func (w *watching) run(ctx context.Context) {
	defer w.hub.Close()
	tick := time.NewTicker(liveEvery)
	defer tick.Stop()
	for turn := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
			if now := w.edge.Now(); now.Sub(w.shown) >= liveEvery {
				w.show(now)
			}
		case <-tick.C:
			turn++
			w.turn(turn, w.edge.Now())
		}
	}
}

// turn is run's n-th look, at now.
func (w *watching) turn(n int, now window.Instant) {
	w.tell(now)
	w.show(now)
	if n%beatTurns == 0 {
		w.hub.Send([]byte(live.Beat))
	}
	w.sample(now)
}

// show makes the picture, if anybody watches: once, whoever they are.
func (w *watching) show(now window.Instant) {
	is := w.hub.Stats()
	if is.Watchers == 0 {
		w.hub.Show(nil)
		return
	}
	w.shown = now
	w.pictures.Add(1)
	view := w.picture(now)
	view.Viewers = is.Readers
	w.hub.Show(frameOf(0, EventLive, view))
}

// come has the picture made soon for somebody who came to watch.
func (w *watching) come() {
	select {
	case w.wake <- struct{}{}:
	default: // it is being made
	}
}
