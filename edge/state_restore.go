package edge

import (
	"math"
	"slices"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// stateUnseen is for how long after a state was written its node may have gone on admitting without another: the
// interval, and what writing takes.
const stateUnseen = stateEvery + stateEvery/4

// restored says what came back.
type restored struct{ words, flags, counts int }

// restoreState puts s in force at now, as far as its rules are. The error is errStateFuture, and nothing has
// happened: the clock went back, and nobody knows how old s is. It is for a node that does not decide yet.
func (e *Edge) restoreState(now window.Instant, s *state) (restored, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.instantOf(s.written) > now.Add(mitigation.MaxEarly) {
		return restored{}, errStateFuture
	}
	var is restored
	_, _ = e.words.MergeAll(e.Wall(now).UnixMilli(), s.words, func(mitigation.Word, mitigation.News) { is.words++ })
	e.obeyAll(now)
	for n := range s.flags {
		is.flags += one(e.restoreFlag(now, s, &s.flags[n]))
	}
	for n := range s.counts {
		is.counts += one(e.restoreCount(now, s, &s.counts[n]))
	}
	return is, nil
}

// instantOf returns when the wall clock, as it goes now, showed micros Unix microseconds.
func (e *Edge) instantOf(micros int64) window.Instant {
	return window.Instant(micros*int64(time.Microsecond) - e.steps.offset.Load())
}

// keptFor returns the rule that k is now, or nil when what was kept of it is no longer so: it is gone or off, or it
// was in shadow, whose refusals must not be held against anybody.
func (e *Edge) keptFor(k keptRule) *rule {
	r := e.rules.Load().byName[k.name]
	if r == nil || r.Mode == mitigation.Off || k.shadow && r.Mode == mitigation.Enforce {
		return nil
	}
	return r
}

// restoreFlag sets one flag again, for no longer than its rule would set it now.
func (e *Edge) restoreFlag(now window.Instant, s *state, k *keptFlag) bool {
	r := e.keptFor(s.rules[k.rule])
	source, known := k.source.source()
	if r == nil || !known || source != mitigation.Manual && k.action != r.Action {
		return false
	}
	longest := r.Window
	switch {
	case source == mitigation.Manual:
		longest = MaxTTL
	case k.action == mitigation.Block:
		longest = r.BlockFor
	}
	f := mitigation.Flag{
		Index: r.meter.Index(k.key), Rule: r.Name, Key: k.key, Action: k.action, Ratio: k.ratio, Source: source,
		Origin: k.origin, Reason: k.reason,
		Since: min(e.instantOf(k.since), now), Until: min(e.instantOf(k.until), now.Add(longest)),
	}
	return f.Until > now && e.flags.Put(now, f)
}

// restoreCount gives one key the slot it had. What a key that was being refused did between the last state and the
// end of its node is made up for: it took what room it made, and as much of the room there was as it asked for of late.
func (e *Edge) restoreCount(now window.Instant, s *state, k *keptCount) bool {
	r := e.keptFor(s.rules[k.rule])
	if r == nil || r.Window != s.rules[k.rule].window {
		return false
	}
	marks, used := make([]window.Mark, len(k.marks)), int64(0)
	for n, m := range k.marks {
		marks[n] = window.Mark{At: min(e.instantOf(m.at), now), Units: m.units}
		used = min(used+m.units, r.Limit)
	}
	if k.refusing && !s.stopped {
		written := min(e.instantOf(s.written), now)
		unseen := min(stateUnseen, now.Sub(written))
		marks = goOn(marks, r.Window, written, written.Add(unseen))
		asked := float64(k.asked) * float64(unseen) / float64(r.Window)
		marks = append(marks, window.Mark{At: written.Add(unseen), Units: min(r.Limit-used, int64(math.Ceil(asked)))})
	}
	return r.meter.PutBack(now, k.key, marks, k.refusing)
}

// goOn adds to marks, oldest first, what a key that was refused at its limit has been admitted from then on until
// end, which nobody wrote down: whatever left its window made room, and it took it.
func goOn(marks []window.Mark, length time.Duration, from, end window.Instant) []window.Mark {
	marks = slices.Clip(marks)
	for n := 0; n < len(marks); n++ { // those added are gone through, too
		if again := marks[n].At.Add(length); again > from && again <= end {
			marks = append(marks, window.Mark{At: again, Units: marks[n].Units})
		}
	}
	return marks
}
