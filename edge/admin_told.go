package edge

import (
	"cmp"
	"context"
	"log/slog"
	"slices"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// Bounds of what is told of flags in one turn, a second.
const (
	maxEvents     = 100 // on the streams; the rest is counted
	maxEventLines = 5   // in the log, that of how many more there are included: two turns may fall within a second
)

var eventNames = [...]string{
	mitigation.FlagSet: EventFlagSet, mitigation.FlagChanged: EventFlagChanged, mitigation.FlagCleared: EventFlagCleared,
}

// tell tells the streams and the log what became of the flags since it last did.
func (w *watching) tell(now window.Instant) {
	changes, lost := w.edge.flags.Changes()
	changes = w.edge.news(now, changes)
	if more := len(changes) - maxEvents; more > 0 {
		changes, lost = changes[:maxEvents], lost+uint64(more)
	}
	if len(changes) == 0 && lost == 0 {
		return
	}
	var frames []byte
	views := make([]MitigationView, len(changes))
	for n := range changes {
		views[n] = w.edge.viewFlag(now, &changes[n].Flag)
		w.id++
		frames = appendFrame(frames, w.id, eventNames[changes[n].Kind], views[n])
	}
	if lost > 0 {
		frames = appendFrame(frames, 0, EventLost, LostView{Events: lost})
	}
	w.hub.Send(frames)
	w.sent.Add(uint64(len(changes)))
	w.dropped.Add(lost)
	w.note(changes, views, lost)
}

// note logs the first of what was told, and how much more there was.
func (w *watching) note(changes []mitigation.Change, views []MitigationView, lost uint64) {
	lines, ctx := len(changes), context.Background()
	if lines > maxEventLines || lost > 0 {
		lines = min(lines, maxEventLines-1)
		w.log.LogAttrs(ctx, slog.LevelInfo, "event: more than are logged", slog.Uint64("events", uint64(len(changes)-lines)+lost))
	}
	for n := range lines {
		v := &views[n]
		attrs := []slog.Attr{
			slog.String("rule", v.Rule), slog.String("key", v.Key), slog.String("action", v.Action), slog.Float64("ratio", v.Ratio),
			slog.String("mode", v.Mode), slog.String("source", v.Source),
			slog.Time("since", v.Since), slog.Time("expires", v.Expires), slog.Int64("offered", v.Offered), slog.Int64("limit", v.Limit),
		}
		if v.Reason != "" {
			attrs = append(attrs, slog.String("reason", v.Reason))
		}
		w.log.LogAttrs(ctx, slog.LevelInfo, "event: "+eventNames[changes[n].Kind], attrs...)
	}
}

// news makes of changes, oldest first, at most one of each key: what they come to beside how things were before them. A flag
// that only moved to another place of the table, as at a reload, comes to nothing; one that was set and cleared is told as
// cleared, for that it was there may matter. Those set by hand come first.
func (e *Edge) news(now window.Instant, changes []mitigation.Change) []mitigation.Change {
	type keyed struct{ rule, key string }
	met := make(map[keyed]int, len(changes)) // index into news
	news := changes[:0]
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
	news = slices.DeleteFunc(news, func(c mitigation.Change) bool {
		return c.Kind == mitigation.FlagCleared && e.stillFlagged(now, &c.Flag)
	})
	slices.SortStableFunc(news, func(a, b mitigation.Change) int {
		return -cmp.Compare(handsWord(&a.Flag), handsWord(&b.Flag))
	})
	return news
}

// stillFlagged reports whether the key of f, whose flag was cleared, has one all the same.
func (e *Edge) stillFlagged(now window.Instant, f *mitigation.Flag) bool {
	r := e.rules.Load().byName[f.Rule]
	return r != nil && e.flags.Get(now, r.meter.Index(f.Key)).Live()
}

func handsWord(f *mitigation.Flag) int {
	if f.Source == mitigation.Manual {
		return 1
	}
	return 0
}
