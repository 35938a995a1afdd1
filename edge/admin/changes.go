package admin

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/explain"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// Bounds of the changes of a turn, once a second, sent and logged.
const (
	maxEvents = 100 // on the streams; others are counted
	// in the log, including the line with the number of the others; two turns may fall within a
	// second
	maxEventLines = 5
)

// eventNames are the names of events, by kind of change.
var eventNames = [...]string{
	mitigation.FlagSet: api.EventFlagSet, mitigation.FlagChanged: api.EventFlagChanged,
	mitigation.FlagCleared: api.EventFlagCleared,
}

// publish sends the changes of flags since the last call to the streams and the log.
func (w *feed) publish(now window.Instant) {
	changes, lost := w.gate.FlagChanges()
	changes = condense(w.gate, now, changes)
	// The first changes are by operators: see condense.
	if more := len(changes) - maxEvents; more > 0 {
		changes, lost = changes[:maxEvents], lost+uint64(more)
	}
	if len(changes) == 0 && lost == 0 {
		return
	}
	var frames []byte
	views := make([]api.MitigationView, len(changes))
	for n := range changes {
		views[n] = explain.Flag(w.gate, now, &changes[n].Flag)
		w.id++
		// A text for all streams: made once, however many watch.
		frames = appendFrame(frames, w.id, eventNames[changes[n].Kind], views[n])
	}
	// Without an id: no change a stream could go on behind after a break.
	if lost > 0 {
		frames = appendFrame(frames, 0, api.EventLost, api.LostView{Events: lost})
	}
	w.hub.Send(frames)
	w.sent.Add(uint64(len(changes)))
	w.dropped.Add(lost)
	w.note(changes, views, lost)
}

// note logs the first changes sent, and the number of the others. An attack flags thousands of keys
// a second; the log says how many, and names a few.
func (w *feed) note(changes []mitigation.Change, views []api.MitigationView, lost uint64) {
	lines, ctx := len(changes), context.Background()
	if lines > maxEventLines || lost > 0 {
		// A line is for the number of the others.
		lines = min(lines, maxEventLines-1)
		w.log.LogAttrs(ctx, slog.LevelInfo, "mitigations: more changes than are logged",
			slog.Uint64("changes", uint64(len(changes)-lines)+lost))
	}
	for n := range lines {
		v := &views[n]
		attrs := []slog.Attr{
			slog.String("rule", v.Rule), slog.String("key", v.Key), slog.String("action", v.Action),
			slog.Float64("ratio", v.Ratio),
			slog.String("mode", v.Mode), slog.String("source", v.Source),
			slog.Time("since", v.Since), slog.Time("expires", v.Expires),
			slog.Any("offered", v.Offered), slog.Any("limit", v.Limit),
		}
		if v.Reason != "" {
			attrs = append(attrs, slog.String("reason", v.Reason))
		}
		w.log.LogAttrs(ctx, slog.LevelInfo,
			"mitigation "+strings.TrimPrefix(eventNames[changes[n].Kind], "flag-"), attrs...)
	}
}

// condense reduces changes, oldest first, to at most 1 for each key: the net change since the state
// before. A flag only moved to another place of the table, as at a reload, has no change. A flag
// set and cleared is reported as cleared, because a short life may matter. Changes by operators
// come first.
func condense(g *gate.Gate, now window.Instant, changes []mitigation.Change) []mitigation.Change {
	type keyed struct{ rule, key string }
	// By name and key, as a flag can be at several places of the table in turn.
	met := make(map[keyed]int, len(changes)) // index into news
	news := changes[:0]
	// wasThere holds, for each entry of news, whether the key had a flag before the first change.
	var wasThere []bool
	for _, c := range changes {
		of := keyed{c.Flag.Rule, string(c.Flag.Key)}
		at, again := met[of]
		if !again {
			met[of] = len(news)
			news, wasThere = append(news, c), append(wasThere, c.Kind != mitigation.FlagSet)
			continue
		}
		if c.Kind != mitigation.FlagCleared {
			c.Kind = mitigation.FlagSet
			if wasThere[at] {
				c.Kind = mitigation.FlagChanged
			}
		}
		news[at] = c
	}
	// A flag after a move is cleared at the old place and live at the new.
	news = slices.DeleteFunc(news, func(c mitigation.Change) bool {
		return c.Kind == mitigation.FlagCleared && g.Effect(now, c.Flag.Rule, c.Flag.Key).Live()
	})
	slices.SortStableFunc(news, func(a, b mitigation.Change) int {
		return -cmp.Compare(byOperator(&a.Flag), byOperator(&b.Flag))
	})
	return news
}

// byOperator returns 1 for a flag set by an operator, else 0.
func byOperator(f *mitigation.Flag) int {
	if f.Source == mitigation.Manual {
		return 1
	}
	return 0
}
