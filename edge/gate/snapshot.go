package gate

import (
	"cmp"
	"slices"
	"time"

	"github.com/headgate-dev/headgate/edge/gate/snapshot"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
)

// The bounds of a snapshot: keys with counts, marks of all keys together, and marks of a key. With
// snapshotFine marks less than 2 % of a limit is misplaced in time.
const (
	snapshotKeys  = 1 << 14
	snapshotMarks = 1 << 18
	snapshotFine  = 64
)

// Snapshot is the state of a gate outliving a restart.
type Snapshot = snapshot.Snapshot

// snapshotter builds a snapshot.
type snapshotter struct {
	gate  *Gate
	now   window.Instant
	wall  int64 // wall clock - instant, nanoseconds
	to    *Snapshot
	rules map[string]int // indices into to.Rules
	set   *ruleSet
	marks []window.Mark // memory for a log
}

// Snapshot returns the state of the gate at now for a later Restore. stopped: the gate admits
// nothing any more. Locks of decisions are held for well under a microsecond at a time.
func (g *Gate) Snapshot(now window.Instant, stopped bool) *Snapshot {
	s := snapshotter{
		gate: g, now: now, wall: g.steps.Offset(), rules: map[string]int{}, set: g.rules.Load(),
		to: &Snapshot{Stopped: stopped},
	}
	s.to.Written = s.micros(now)
	wall := g.Wall(now).UnixMilli()
	s.to.Overrides, s.to.Limits = g.overrides.All(wall), g.limits.All(wall)
	keys := s.flags(g.flags.Live(now), wall)
	s.strikes(g.flags.Struck(now))
	s.counts(s.near(keys))
	return s.to
}

// micros returns i in Unix microseconds.
func (s *snapshotter) micros(i window.Instant) int64 {
	return (int64(i) + s.wall) / int64(time.Microsecond)
}

// rule returns the index of r among the rules of the snapshot, adding r if need be.
func (s *snapshotter) rule(r *rule) int {
	at, ok := s.rules[r.Name]
	if !ok {
		at = len(s.to.Rules)
		s.rules[r.Name] = at
		s.to.Rules = append(s.to.Rules,
			snapshot.Rule{Name: r.Name, Window: r.Window, Shadow: r.Mode == mitigation.Shadow})
	}
	return at
}

// snapshotKey is a key whose count belongs in the snapshot.
type snapshotKey struct {
	rule  *rule
	index sketch.Index
	key   []byte
}

// flags adds the flags following from no override in force, blocks first, and returns the keys of
// refusing flags. wall is Unix milliseconds.
func (s *snapshotter) flags(live []mitigation.Flag, wall int64) (keys []snapshotKey) {
	slices.SortStableFunc(live, func(a, b mitigation.Flag) int {
		return -cmp.Compare(a.Action, b.Action)
	})
	for n := range live {
		f := &live[n]
		r := s.set.byName[f.Rule]
		if r == nil {
			continue
		}
		if f.Action != mitigation.Allow && len(keys) < snapshotKeys {
			keys = append(keys, snapshotKey{r, f.Index, f.Key})
		}
		if o, given := s.gate.overrides.Last(wall, f.Rule, f.Key); f.Source == mitigation.Manual &&
			given && o.InForce(wall) {
			continue
		}
		s.to.Flags = append(s.to.Flags, snapshot.Flag{
			Rule: s.rule(r), Key: f.Key, Action: f.Action, Ratio: f.Ratio, Source: f.Source,
			Since: s.micros(f.Since), Until: s.micros(f.Until), Origin: f.Origin, Reason: f.Reason,
		})
	}
	return keys
}

// strikes adds the strikes of keys whose rules are in force.
func (s *snapshotter) strikes(struck []mitigation.Flag) {
	for n := range struck {
		f := &struck[n]
		if r := s.set.byName[f.Rule]; r != nil {
			s.to.Strikes = append(s.to.Strikes,
				snapshot.Strikes{
					Rule: s.rule(r), Key: f.Key, Number: f.Strikes,
					Forget: s.micros(f.Forget),
				})
		}
	}
}

// near adds to keys those without a flag near the limit, as far as there is room.
func (s *snapshotter) near(keys []snapshotKey) []snapshotKey {
	have := make(map[sketch.Index]bool, len(keys))
	for _, k := range keys {
		have[k.index] = true
	}
	// the share of the limit from which a key without a flag has a count in a snapshot.
	s.gate.counter.Near(s.now, 0.5, func(name string, key []byte) bool {
		r := s.set.byName[name]
		if r == nil {
			return true
		}
		if i := r.meter.Index(key); !have[i] {
			keys = append(keys, snapshotKey{r, i, slices.Clone(key)})
		}
		return len(keys) < snapshotKeys
	})
	return keys
}

// counts adds the counts of keys: the more keys, the fewer marks for each.
func (s *snapshotter) counts(keys []snapshotKey) {
	most := min(snapshotFine, snapshotMarks/max(1, len(keys)))
	for _, k := range keys {
		number, _ := k.rule.meter.NumberOf(k.index)
		k.rule = k.rule.of(s.now, k.key)
		log, global := s.log(k, most)
		if len(log.Marks) == 0 {
			continue
		}
		c := snapshot.Count{
			Rule: s.rule(k.rule), Key: k.key, Refusing: log.Refusing,
			Marks:  make([]snapshot.Mark, len(log.Marks)),
			Number: number, Apart: true, Ring: log.Ring, Global: global,
		}
		c.Asked = k.rule.meter.Offered(s.now, k.index)
		for n, m := range log.Marks {
			c.Marks[n] = snapshot.Mark{At: s.micros(m.At), Units: m.Units}
		}
		s.to.Counts = append(s.to.Counts, c)
	}
}

// log returns the log of k in up to most marks and, for a global rule, which part other PoPs
// counted.
func (s *snapshotter) log(k snapshotKey, most int) (log window.Snapshot, global control.Snapshot) {
	read := func() { log = k.rule.meter.Snapshot(s.now, k.index, s.marks[:0], most) }
	if k.rule.global && s.gate.global.Snapshot != nil {
		global = s.gate.global.Snapshot(k.rule.far, k.key, read)
	} else {
		read()
	}
	s.marks = log.Marks
	return log, global
}
