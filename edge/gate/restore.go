package gate

import (
	"errors"
	"math"
	"slices"
	"time"

	"github.com/headgate-dev/headgate/edge/gate/snapshot"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/override"
	"github.com/headgate-dev/headgate/window"
)

// ErrFuture is the error of a snapshot written later than now. The wall clock went back, so the age
// of the snapshot is unknown.
var ErrFuture = errors.New("written later than now")

// Restored holds the numbers of overrides, flags and counts a Restore put in force.
type Restored struct{ Overrides, Flags, Counts int }

// Restore puts s in force at now, as far as its rules still exist. unseen is the longest time for
// which the node may have gone on admitting after s was taken without another snapshot. The error
// is ErrFuture, and then nothing has changed. Restore is for a gate that does not decide yet.
func (g *Gate) Restore(now window.Instant, s *Snapshot, unseen time.Duration) (Restored, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.instantOf(s.Written) > now.Add(override.MaxEarly) {
		return Restored{}, ErrFuture
	}
	var is Restored
	g.overrides.MergeAll(g.Wall(now).UnixMilli(), s.Overrides,
		func(override.Override, override.News) { is.Overrides++ })
	g.limits.MergeAll(g.Wall(now).UnixMilli(), s.Limits,
		func(override.Override, override.News) { is.Overrides++ })
	g.applyLimits()
	g.applyAll(now)
	for n := range s.Flags {
		if g.restoreFlag(now, s, &s.Flags[n]) {
			is.Flags++
		}
	}
	for n := range s.Strikes {
		g.restoreStrikes(now, s, &s.Strikes[n])
	}
	g.networks.Update(now, g.flags)
	for n := range s.Counts {
		if g.restoreCount(now, s, &s.Counts[n], unseen) {
			is.Counts++
		}
	}
	return is, nil
}

// instantOf returns the instant at which the wall clock, by the present rate, read micros Unix
// microseconds.
func (g *Gate) instantOf(micros int64) window.Instant {
	return window.Instant(micros*int64(time.Microsecond) - g.steps.Offset())
}

// restoredRule returns the rule in force for the rule was. nil where the flags and counts of was no
// longer hold: the rule is gone or off, or the rule left shadow, whose refusals must not be held
// against anybody.
func (g *Gate) restoredRule(was *snapshot.Rule) *rule {
	r := g.rules.Load().byName[was.Name]
	if r == nil || r.Mode == mitigation.Off || was.Shadow && r.Mode == mitigation.Enforce {
		return nil
	}
	return r
}

// restoreFlag sets a flag again, for no longer than the rule would now.
func (g *Gate) restoreFlag(now window.Instant, s *Snapshot, was *snapshot.Flag) bool {
	r := g.restoredRule(&s.Rules[was.Rule])
	if r == nil || was.Source != mitigation.Manual && was.Action != r.Action {
		return false
	}
	longest := max(r.fill, mitigation.MinWindow)
	switch {
	case was.Source == mitigation.Manual:
		longest = MaxTTL
	case was.Action == mitigation.Block:
		longest = r.LongestBlock()
	}
	f := mitigation.Flag{
		Index: r.meter.Index(was.Key), Rule: r.Name, Key: was.Key, Action: was.Action,
		Ratio: was.Ratio, Source: was.Source,
		Origin: was.Origin, Reason: was.Reason,
		Since: min(g.instantOf(was.Since), now),
		Until: min(g.instantOf(was.Until), now.Add(longest)),
	}
	return f.Until > now && g.flags.Put(now, f)
}

// restoreStrikes gives a key's strikes back, for no longer than the rule would keep strikes now.
func (g *Gate) restoreStrikes(now window.Instant, s *Snapshot, was *snapshot.Strikes) {
	r := g.restoredRule(&s.Rules[was.Rule])
	if r == nil || len(r.Ladder.Steps) == 0 {
		return
	}
	g.flags.Remember(now, mitigation.Flag{
		Index: r.meter.Index(was.Key), Rule: r.Name, Key: was.Key, Action: mitigation.Block,
		Strikes: was.Number,
		Forget:  min(g.instantOf(was.Forget), now.Add(r.LongestBlock()+r.Ladder.Forget)),
	})
}

// restoreCount gives a key the old slot.
//
// After a crash the cost admitted to a refused key between the snapshot and the end of the process
// is unknown. A reconstruction: the key took all room opened by marks leaving the window, and as
// much of the free room as the latest rate of requests filled.
func (g *Gate) restoreCount(
	now window.Instant, s *Snapshot, c *snapshot.Count, unseen time.Duration,
) bool {
	r := g.restoredRule(&s.Rules[c.Rule])
	r = r.numbered(c.Number, r.of(now, c.Key))
	// without Apart the counts of other PoPs would be merged twice
	if r == nil || r.Window != s.Rules[c.Rule].Window || r.global && !c.Apart {
		return false
	}
	marks, used := make([]window.Mark, len(c.Marks)), int64(0)
	for n, m := range c.Marks {
		marks[n] = window.Mark{At: min(g.instantOf(m.At), now), Units: m.Units}
		used = min(used+m.Units, r.Quota())
	}
	if c.Refusing && !s.Stopped {
		written := min(g.instantOf(s.Written), now)
		unseen = min(unseen, now.Sub(written))
		if r.Kind == mitigation.Window {
			marks = refill(marks, r.Window, written, written.Add(unseen))
		}
		asked := float64(c.Asked) * float64(unseen) / float64(r.fill)
		marks = append(marks, window.Mark{
			At:    written.Add(unseen),
			Units: min(r.free(used), int64(math.Ceil(asked))),
		})
	}
	if !r.meter.Restore(now, c.Key,
		window.Snapshot{Marks: marks, Refusing: c.Refusing, Ring: c.Ring}) {
		return false
	}
	if r.global && g.global.Restore != nil {
		g.global.Restore(now, r.far, c.Key, c.Global)
	}
	return true
}

// free returns the most admitted to a key without a record, of which used is on record: the rest of
// the limit, or the tokens of a bucket.
func (r *rule) free(used int64) int64 {
	if r.Kind == mitigation.Bucket {
		return r.Burst
	}
	return r.Limit - used
}

// refill adds to marks, which come oldest first, the cost admitted between from and end, without a
// record, to a key refused at the limit: each mark leaving a window of length window makes room,
// and the key takes the room.
func refill(marks []window.Mark, length time.Duration, from, end window.Instant) []window.Mark {
	marks = slices.Clip(marks)
	for n := 0; n < len(marks); n++ { // includes the marks added here
		if again := marks[n].At.Add(length); again > from && again <= end {
			marks = append(marks, window.Mark{At: again, Units: marks[n].Units})
		}
	}
	return marks
}
