package window

import (
	"slices"
	"time"

	"github.com/headgate-dev/headgate/sketch"
)

// windowsOf returns the window lengths with a layer, shortest first. The longest always does.
func windowsOf(limits []Limit) []time.Duration {
	var all []time.Duration
	longest := time.Duration(0)
	for _, l := range limits {
		switch _, window := l.quota(); {
		case l.Empty:
		case l.Burst > 0:
			longest = max(longest, window)
		default:
			all = append(all, window)
		}
	}
	if longest > slices.Max(append(all, 0)) {
		all = append(all, longest) // else the buckets share the windows' layers
	}
	if len(all) == 0 && len(limits) > 0 {
		all = append(all, limits[0].Window)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	for len(all) > maxLayers {
		all = slices.Delete(all, 0, 1) // the shortest shares the next longer one's
	}
	return all
}

// divide returns a layer for each window length, over equal parts of the cells. The old layers stay
// if the lengths are the same. Otherwise the cells are emptied and dealt out again. Old meters then
// read nonsense until replaced; this can make a suspect but refuse nobody.
func (c *Counter) divide(old *meters, windows []time.Duration) []*layer {
	same := slices.EqualFunc(old.layers, windows, func(l *layer, w time.Duration) bool {
		return l.span.window == w
	})
	if same || len(windows) == 0 {
		return old.layers
	}
	for i := range c.cells {
		c.cells[i].Store(0)
	}
	c.brief.clear()
	part := len(c.cells) / len(windows)
	layers := make([]*layer, len(windows))
	for i, w := range windows {
		layers[i] = &layer{span: SpanOf(w), sketch: sketch.New(c.cells[i*part : (i+1)*part])}
	}
	return layers
}

// reset frees the slots of rules gone. In slots of rules that changed the sweep drops state derived
// from the old limit.
func (c *Counter) reset(old *meters) {
	now := c.meters.Load()
	for at := range c.table.slots {
		s := &c.table.slots[at]
		s.mu.Lock()
		if s.index.Load() != 0 {
			was, is := old.byID[s.rule.Load()], now.byID[s.rule.Load()]
			if is == nil && was != nil && was != was.base { // the number is gone
				if is = now.byID[was.base.id]; is != nil {
					s.rule.Store(is.id)
				}
			}
			if was != nil && is != nil && was.seen != is.seen {
				is.seen.Note(sketch.Index(s.index.Load()))
			}
			if is == nil {
				c.evict(at, evictGone)
			} else if was != nil {
				c.refit(s, at, was, is)
			}
		}
		s.mu.Unlock()
	}
}

// refit adapts the slot at place at, judged under was, to is, a meter of the same rule. The caller
// holds the slot's lock.
func (c *Counter) refit(s *slot, at int, was, is *Meter) {
	switch {
	case is.tokens && !was.sameBucket(is):
		c.resize(s, at, was, is)
	case was.limit != is.limit || was.shared != is.shared:
		s.missed.Add(uint32(s.full.set(0))) // recorded with the next refusal
		if was.packing != is.packing || was.shared != is.shared {
			c.clearSync(at)
			if c.sync != nil {
				c.sync.all[at].flags = rebase
			}
		}
		if was.unit != is.unit {
			s.carry = [held]uint8{}
		}
		if !is.numbered.Load() && int64(s.admitted.per)*coarsest > is.limit &&
			s.admitted.per > is.per {
			c.clear(s, is.per) // too coarse for the new limit
		}
	}
}
