package edge

import (
	"cmp"
	"slices"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
)

const (
	// keptKeys is how many keys' counts are kept, keptMarks in how many marks all together, and no key in more
	// than keptFine: so many misplace less than 2 % of a limit.
	keptKeys  = 1 << 14
	keptMarks = 1 << 18
	keptFine  = 64

	// keptFrom is the share of its limit from which a key's count is kept though it has no flag.
	keptFrom = 0.5
)

// taking is a state being put together.
type taking struct {
	edge  *Edge
	now   window.Instant
	wall  int64 // nanoseconds from an Instant to wall time
	state *state
	rules map[string]int // places in state.rules
	set   *ruleSet
	marks []window.Mark
}

// takeState returns what this node is to remember of now. It takes each lock that decisions take for well under
// a microsecond at a time, but for a key's own.
func (e *Edge) takeState(now window.Instant, stopped bool) *state {
	t := taking{
		edge: e, now: now, wall: e.steps.offset.Load(), rules: map[string]int{}, set: e.rules.Load(),
		state: &state{stopped: stopped},
	}
	t.state.written = t.micros(now)
	wall := e.Wall(now).UnixMilli()
	t.state.words = e.words.All(wall)
	keys := t.flags(e.flags.Live(now), wall)
	t.counts(t.hot(keys))
	return t.state
}

func (t *taking) micros(i window.Instant) int64 { return (int64(i) + t.wall) / int64(time.Microsecond) }

// rule returns the place of r among the rules of the state.
func (t *taking) rule(r *rule) int {
	at, ok := t.rules[r.Name]
	if !ok {
		at = len(t.state.rules)
		t.rules[r.Name] = at
		t.state.rules = append(t.state.rules, keptRule{name: r.Name, window: r.Window, shadow: r.Mode == mitigation.Shadow})
	}
	return at
}

// kept is a key whose count is to be kept.
type kept struct {
	rule  *rule
	index sketch.Index
	key   []byte
}

// flags takes the flags that no word in force at wall, Unix milliseconds, stands for, blocks first, and returns
// the keys of those that refuse.
func (t *taking) flags(live []mitigation.Flag, wall int64) (keys []kept) {
	slices.SortStableFunc(live, func(a, b mitigation.Flag) int { return -cmp.Compare(a.Action, b.Action) })
	for n := range live {
		f := &live[n]
		r := t.set.byName[f.Rule]
		source := keptSourceOf(f.Source)
		if r == nil {
			continue
		}
		if f.Action != mitigation.Allow && len(keys) < keptKeys {
			keys = append(keys, kept{r, f.Index, f.Key})
		}
		if w, said := t.edge.words.Last(wall, f.Rule, f.Key); source == 0 || source == keptManual && said && w.InForce(wall) {
			continue
		}
		t.state.flags = append(t.state.flags, keptFlag{
			rule: t.rule(r), key: f.Key, action: f.Action, ratio: f.Ratio, source: source,
			since: t.micros(f.Since), until: t.micros(f.Until), origin: f.Origin[:min(len(f.Origin), maxOrigin)], reason: f.Reason,
		})
	}
	return keys
}

// keptSourceOf returns the number of a source whose flags are kept, else 0.
func keptSourceOf(s mitigation.Source) keptSource {
	switch s {
	case mitigation.Self:
		return keptSelf
	case mitigation.Ring:
		return keptRing
	case mitigation.Manual:
		return keptManual
	case mitigation.Gossip:
		return keptGossip
	}
	return 0
}

// source returns the source that keptSourceOf turned into k, if there is one.
func (k keptSource) source() (mitigation.Source, bool) {
	for s := mitigation.Self; s <= mitigation.Manual; s++ {
		if keptSourceOf(s) == k {
			return s, true
		}
	}
	return 0, false
}

// hot adds to keys those without a flag that are near their limits, as far as there is room.
func (t *taking) hot(keys []kept) []kept {
	have := make(map[sketch.Index]bool, len(keys))
	for _, k := range keys {
		have[k.index] = true
	}
	t.edge.counter.Near(t.now, keptFrom, func(name string, key []byte) bool {
		r := t.set.byName[name]
		if r == nil {
			return true
		}
		if i := r.meter.Index(key); !have[i] {
			keys = append(keys, kept{r, i, slices.Clone(key)})
		}
		return len(keys) < keptKeys
	})
	return keys
}

// counts takes what keys were admitted: the more there are, the coarser.
func (t *taking) counts(keys []kept) {
	most := min(keptFine, keptMarks/max(1, len(keys)))
	for _, k := range keys {
		marks, refusing := k.rule.meter.Marks(t.now, k.index, t.marks[:0], most)
		if t.marks = marks; len(marks) == 0 {
			continue
		}
		c := keptCount{rule: t.rule(k.rule), key: k.key, refusing: refusing, marks: make([]keptMark, len(marks))}
		c.asked = k.rule.meter.Offered(t.now, k.index)
		for n, m := range marks {
			c.marks[n] = keptMark{at: t.micros(m.At), units: m.Units}
		}
		t.state.counts = append(t.state.counts, c)
	}
}
