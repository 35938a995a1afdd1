package serve

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"github.com/headgate-dev/headgate/edge/door/udp"
)

const (
	// watchdogLeast is the least time between two looks: meanwhile the control loop has turned even
	// on a busy machine.
	watchdogLeast = 300 * time.Millisecond
)

// watchdog feeds the service manager's watchdog for as long as the loops behind decisions make
// progress. When a loop stands still nothing is sent, and the manager restarts the daemon.
type watchdog struct {
	every   time.Duration // between two looks; 0: the manager has no watchdog
	tell    *notifier
	log     *slog.Logger
	last    udp.Life
	stalled string // the loop that stood still at the last look, or ""
}

// openWatchdog returns the watchdog the environment asks this process, pid, for.
func openWatchdog(getenv func(string) string, pid int, tell *notifier, log *slog.Logger) *watchdog {
	w := &watchdog{tell: tell, log: log}
	micros, err := strconv.ParseInt(getenv("WATCHDOG_USEC"), 10, 64)
	if whose := getenv("WATCHDOG_PID"); err != nil || micros <= 0 || tell == nil ||
		whose != "" && whose != strconv.Itoa(pid) {
		return w
	}
	const most = int64(24 * time.Hour / time.Microsecond) // more would not fit a Duration
	// how often the loops are looked at within the manager's patience: a late look, or a look at a
	// long turn of a loop, is made good by the next.
	w.every = max(time.Duration(min(micros, most))*time.Microsecond/4, watchdogLeast)
	return w
}

// run looks at the loops with life, until ctx ends. A nil watchdog does nothing.
func (w *watchdog) run(ctx context.Context, life func() udp.Life) {
	if w == nil || w.every == 0 {
		return
	}
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	w.last = life()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.look(life())
		}
	}
}

// look feeds the manager's watchdog, unless something has stood still since the last look.
func (w *watchdog) look(now udp.Life) {
	was := w.stalled
	w.stalled, w.last = now.Stalled(w.last), now
	switch {
	case w.stalled == "":
		w.tell.tell("WATCHDOG=1")
	case w.stalled != was:
		w.log.Error("watchdog not notified: a loop of the daemon has stopped", "what", w.stalled)
	}
}
