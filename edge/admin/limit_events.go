package admin

import (
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/window"
)

// limitKey is the rule and the key of a limit by hand, as people are shown both.
type limitKey struct{ rule, key string }

// publishLimits sends the limits by hand set, here or at another node, and those
// ended, since the last call: both are found by the list in force.
func (w *feed) publishLimits(now window.Instant) {
	all, was := w.gate.Limits(now), w.limits
	if was != nil && len(all)+len(was) == 0 {
		return
	}
	w.limits = make(map[limitKey]api.LimitView, len(all))
	frames, events := []byte(nil), 0
	note := func(name string, v *api.LimitView) {
		if events++; was != nil && events <= maxEvents { // nil: at the start nothing is news
			w.id++
			frames = appendFrame(frames, w.id, name, v)
		}
	}
	for i := range all {
		v := viewLimit(w.gate, &all[i])
		at := limitKey{v.Rule, v.Key}
		before := was[at]
		if w.limits[at] = v; !v.Since.Equal(before.Since) {
			v.Before = before.Limit
			note(api.EventLimitSet, &v)
		}
		delete(was, at)
	}
	wall := w.gate.Wall(now)
	for _, v := range was {
		name := api.EventLimitUnset
		if !v.Expires.After(wall) {
			name = api.EventLimitEnded
		}
		note(name, &v)
	}
	if lost := events - maxEvents; was != nil && lost > 0 {
		frames = appendFrame(frames, 0, api.EventLost, api.LostView{Events: uint64(lost)})
	}
	w.hub.Send(frames)
}
