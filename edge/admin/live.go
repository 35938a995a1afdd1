package admin

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/live"
	"github.com/headgate-dev/headgate/edge/metrics"
	"github.com/headgate-dev/headgate/window"
)

// Times of the live view.
const (
	// A person cannot follow more.
	liveEvery = time.Second // between two turns, and so between two pictures
)

// feed keeps open pages up to date. A single goroutine makes a picture a second, however many
// viewers there are.
//
//	flag table ─► changes ─► publish ─┬─► live.Hub ─► streams of /v1/events
//	node ─► picture ─► LiveView ──────┘      └─► slog, a few lines a second
//	node ─► totals ─► live.History ─► /v1/history
type feed struct {
	gate    *gate.Gate
	options Options
	log     *slog.Logger

	hub     live.Hub     // the open streams
	sinces  sinces       // of the faults
	history live.History // the rates of the rules
	// A channel of a single place: a second hint would ask for the same.
	hint chan struct{} // a viewer came, and there is no picture

	// The fields below belong to run.
	shown   window.Instant             // when the last picture was made
	scanned *scan                      // nil: not yet
	id      uint64                     // of the last event
	limits  map[limitKey]api.LimitView // by hand, at the last turn; nil: at none
	modes   map[api.ModeView]string    // by rule or policy, at the last turn; nil: none yet

	// Since start: changes of flags sent, and dropped because there were too many; pictures made.
	sent, dropped, pictures atomic.Uint64
}

// newFeed returns a feed of g, which begins to note changes of flags.
func newFeed(g *gate.Gate, o Options) *feed {
	g.WatchFlags()
	return &feed{gate: g, options: o, log: o.Log, hint: make(chan struct{}, 1)}
}

// stats returns the figures for the metrics.
func (w *feed) stats() metrics.Live {
	hub := w.hub.Stats()
	return metrics.Live{
		Readers: hub.Readers, Sent: w.sent.Load(), Dropped: w.dropped.Load(), Cut: hub.Cut,
		Refused: hub.Refused,
	}
}

// run takes a turn every liveEvery until ctx ends, and then ends every stream. Only this goroutine
// makes pictures, so their parts need no lock.
func (w *feed) run(ctx context.Context) {
	defer w.hub.Close()
	tick := time.NewTicker(liveEvery)
	defer tick.Stop()
	for turn := 0; ; {
		select {
		case <-ctx.Done():
			return
		// A page just opened need not wait for the next tick; constant reloads are bounded by
		// liveEvery.
		case <-w.hint:
			if now := w.gate.Now(); now.Sub(w.shown) >= liveEvery {
				w.show(now)
			}
		case <-tick.C:
			turn++
			w.turn(turn, w.gate.Now())
		}
	}
}

// turn is run's n-th turn, at now: the changes of flags, the picture, and a beat or a sample if
// due.
func (w *feed) turn(n int, now window.Instant) {
	w.publish(now)
	w.publishLimits(now)
	w.publishModes()
	w.publishSurge()
	w.show(now)
	w.health(now) // for since when a fault is there
	// A proxy between the node and the page may close a connection after a minute of silence. turns
	// between two beats of a stream
	if n%15 == 0 {
		w.hub.Send([]byte(live.Beat))
	}
	w.sample(now)
}

// show sends a new picture if there is a viewer: a single picture for all. Without a viewer no
// picture is made, and the last is forgotten: too old for the next viewer.
func (w *feed) show(now window.Instant) {
	is := w.hub.Stats()
	if is.Watchers == 0 {
		w.hub.Show(nil)
		return
	}
	w.shown = now
	w.pictures.Add(1)
	view := w.picture(now)
	view.Viewers = is.Readers
	w.hub.Show(frameOf(0, api.EventLive, view))
}

// request asks run for a picture soon, for a new viewer.
func (w *feed) request() {
	select {
	case w.hint <- struct{}{}:
	default: // asked for already
	}
}
