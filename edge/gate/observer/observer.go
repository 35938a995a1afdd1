// Package observer estimates, beside the decisions, the effect of other limits on each rule, from
// the slots of suspects and the table of leases, which exist in any case.
//
//	window.Counter ──Demands, Levels of buckets─┐ one part at a time   ┌─► whatif.Sample ─┐ by rule
//	                                            ├──────────► Observer ─┤                  ├──► Observation
//	lease.Table ──AppendHoldings────────────────┘                      └─► whatif.Held ───┘
package observer

import (
	"slices"
	"sync"
	"time"

	"github.com/headgate-dev/headgate/edge/gate/totals"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/lease"
	"github.com/headgate-dev/headgate/window/whatif"
)

const (
	// lookParts is the number of parts in which the suspects are read.
	lookParts = 50
	// soonestRound and latestRound bound the time in which all suspects are read once.
	soonestRound, latestRound = 500 * time.Millisecond, 5 * time.Second
)

// Subject is an observed rule. It does not change.
type Subject struct {
	Rule   mitigation.Rule
	Meter  *window.Meter
	From   totals.Baseline      // start of the rule's figures
	Totals func() totals.Totals // of the rule now
	Leases *lease.Table         // of kind concurrency; else nil
	Number uint16               // of the rule in Leases
	Shared bool                 // other nodes count too
}

// Set is the rules in force: those that are observed, and how many there are in all.
type Set struct {
	Subjects []Subject
	Rules    int
}

// Observer keeps the samples. The zero Observer is ready after Start.
type Observer struct {
	mu      sync.Mutex
	bytes   int                       // of all samples together
	set     *Set                      // the rules that samples belong to
	samples map[string]*observed      // by rule
	next    int                       // the part to read next
	part    time.Duration             // elapsed time that is not yet spent on reading parts
	last    window.Instant            // of Observe
	looked  [lookParts]window.Instant // when each part was last read
	places  []lease.Holding           // of a part, used again
	past    past
}

// observed is the sample of a rule.
type observed struct {
	*whatif.Sample
	held  *whatif.Held // of kind concurrency, where it takes the place of a sample; else nil
	rule  whatif.Rule
	of    window.Instant  // start of the rule's figures
	from  totals.Baseline // start of the sample: the same, or the last change of the rule's action
	blind int64           // cost in a window; keys offered less may be missing
}

// Start gives o many bytes. Nothing before now was counted.
func (o *Observer) Start(bytes int, now window.Instant) {
	o.bytes, o.last = bytes, now
	for n := range o.looked {
		o.looked[n] = now
	}
}

// Observe reads as many parts of c's suspects as are due by now. set is in force.
func (o *Observer) Observe(now window.Instant, set *Set, c *window.Counter) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.follow(set, now)
	o.past.turn(now, set, c)
	each := set.round() / lookParts
	o.part += max(0, now.Sub(o.last))
	o.last = now
	for range min(int(o.part/each), lookParts) {
		c.Demands(now, o.looked[o.next], o.next, lookParts, o.take)
		if set.buckets() {
			c.Levels(now, o.looked[o.next], o.next, lookParts, o.look)
		}
		o.lookAtPlaces(now, set, now.Sub(o.looked[o.next]))
		o.looked[o.next] = now
		o.next = (o.next + 1) % lookParts
	}
	o.part %= each
}

// round returns the time in which all suspects are to be read once. Half the shortest window
// ensures that no cost leaves a window unseen. The debt of a bucket and the places held are known
// at the looks alone.
func (s *Set) round() time.Duration {
	round := latestRound
	for i := range s.Subjects {
		r := &s.Subjects[i].Rule
		switch r.Kind {
		case mitigation.Bucket:
			round = min(round, r.Fill()/window.Slices)
		case mitigation.Concurrency:
			round = soonestRound
		case mitigation.Window:
			round = min(round, r.Window/2)
		}
	}
	return max(round, soonestRound)
}

// unseen returns the tokens of a bucket that are back before the next look: a key that took fewer
// may be gone by then. 0 of a window.
func (s *Set) unseen(r *mitigation.Rule) int64 {
	if r.Kind != mitigation.Bucket {
		return 0
	}
	return int64(float64(r.Limit)*s.round().Seconds()/r.Window.Seconds()) + 1
}

// follow adapts the samples to set, which is in force at now.
func (o *Observer) follow(set *Set, now window.Instant) {
	if o.set != set {
		o.set = set
		o.past.follow(set, now)
		samples := make(map[string]*observed, len(set.Subjects))
		for i := range set.Subjects {
			r := &set.Subjects[i]
			samples[r.Rule.Name] = o.samples[r.Rule.Name].continueAs(r, o.bytes/set.Rules, now)
		}
		o.samples = samples
	}
	for i := range set.Subjects {
		if s := o.samples[set.Subjects[i].Rule.Name]; s != nil {
			s.blind = max(s.blind, set.Subjects[i].Meter.SeenFrom(),
				set.unseen(&set.Subjects[i].Rule))
		}
	}
}

// continueAs returns s with that many bytes if it is a sample of r as r is now, else a new sample.
// s may be nil.
func (s *observed) continueAs(r *Subject, bytes int, now window.Instant) *observed {
	if s.isOf(r) {
		s.Resize(bytes)
		return s
	}
	is := Tried(&r.Rule)
	next := &observed{rule: is, of: r.From.Since, from: r.From}
	if r.Leases != nil {
		next.Sample, next.held = whatif.NewSample(is, 0), whatif.NewHeld(r.Rule.Limit, bytes)
	} else {
		next.Sample = whatif.NewSample(is, bytes)
	}
	if s != nil && s.of == next.of {
		next.from = totals.Baseline{Since: now, Totals: r.Totals()}
	}
	return next
}

// isOf reports whether s is a sample of r as r is now. s may be nil.
func (s *observed) isOf(r *Subject) bool {
	return s != nil && s.of == r.From.Since && s.rule == Tried(&r.Rule) &&
		(s.held != nil) == (r.Leases != nil)
}

// Tried returns the part of r, a window or a bucket, that decides the effect of other limits.
func Tried(r *mitigation.Rule) whatif.Rule {
	t := whatif.Rule{
		Limit: r.Limit, Window: r.Window, Burst: r.Burst, Delay: r.Delay,
		Offered: r.Counts == mitigation.CountOffered,
	}
	if r.Action == mitigation.Block {
		t.BlockFor = r.BlockFor
	}
	return t
}

// Observation is an estimate, from a sample of keys, of the cost other limits would have refused
// under a rule.
type Observation struct {
	From totals.Baseline // start of the sample
	Keys int             // number in the sample
	// cost in a window from which every key is in the sample; 0: all keys are
	AllFrom float64
	// cost in a window below which keys may be missing; 0: none is missing
	BlindTo   int64
	Late      uint64            // times a key was read too late for a complete view
	Distinct  float64           // estimated number of keys
	Error     float64           // standard error of Distinct, as a share of it
	Demand    float64           // estimated cost offered
	Estimates []whatif.Estimate // by limit, lowest first
	// Held are the places keys hold under a rule of kind concurrency; then Estimates and the fields
	// of the sample are empty.
	Held whatif.HeldFigures
}

// Observation returns the estimate for other limits of r; without any before a key has been
// sampled.
func (o *Observer) Observation(r *Subject) Observation {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s := o.samples[r.Rule.Name]; s.isOf(r) {
		return s.observation()
	}
	return Observation{From: r.From}
}

// observation returns the estimate of s.
func (s *observed) observation() Observation {
	if s.held != nil {
		return Observation{From: s.from, Held: s.held.Figures()}
	}
	o := Observation{From: s.from, BlindTo: s.blind, Late: s.Late(), Demand: s.Demand()}
	o.Keys, o.AllFrom = s.Size()
	o.Distinct, o.Error = s.Keys()
	if o.Keys > 0 {
		o.Estimates = s.Estimates()
	}
	return o
}

// lookAtPlaces adds the keys of the next part holding places, for the time since the look before.
func (o *Observer) lookAtPlaces(now window.Instant, set *Set, lasts time.Duration) {
	var by map[uint16]*whatif.Held
	for i := range set.Subjects {
		r := &set.Subjects[i]
		if r.Leases == nil {
			continue
		}
		s := o.samples[r.Rule.Name]
		if by == nil { // all have the same table
			by = map[uint16]*whatif.Held{}
			o.places = r.Leases.AppendHoldings(o.places[:0], now, o.next, lookParts)
		}
		by[r.Number] = s.held
	}
	for i := range o.places {
		if is := by[o.places[i].Rule]; is != nil {
			is.Look(o.places[i].Index, o.places[i].Places, lasts)
		}
	}
	o.places = o.places[:0]
}

// buckets reports whether any of the rules is a bucket.
func (s *Set) buckets() bool {
	return slices.ContainsFunc(s.Subjects,
		func(r Subject) bool { return r.Rule.Kind == mitigation.Bucket })
}

// look adds a suspect of a bucket to the sample of its rule.
func (o *Observer) look(l *window.Level) {
	if s := o.samples[l.Rule]; s != nil {
		s.Look(l)
	}
}

// take adds a suspect to the sample of its rule.
func (o *Observer) take(d *window.Demand) {
	if s := o.samples[d.Rule]; s != nil {
		s.Take(d)
	}
	if o.past.denials != nil {
		o.past.take(d)
	}
}
