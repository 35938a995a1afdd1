package gate

import (
	"sync"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/whatif"
)

const (
	// observerShare divides the configured memory: that part of it, in addition to it, is used for samples.
	observerShare = 16
	// lookParts is the number of parts in which the suspects are read.
	lookParts = 50
	// soonestRound and latestRound bound the time in which all suspects are read once.
	soonestRound, latestRound = 500 * time.Millisecond, 5 * time.Second
)

// observer estimates, beside the decisions, the effect of other limits on each rule. It runs in
// Turn, and reads the slots that decisions keep in any case, one part of them at a time.
type observer struct {
	mu      sync.Mutex
	bytes   int                       // of all samples together
	rules   *ruleSet                  // the rules that samples belong to
	samples map[string]*observed      // by rule
	next    int                       // the part to read next
	part    time.Duration             // elapsed time that is not yet spent on reading parts
	last    window.Instant            // of observe
	looked  [lookParts]window.Instant // when each part was last read
}

// observed is the sample of one rule.
type observed struct {
	*whatif.Sample
	rule  whatif.Rule
	of    window.Instant // start of the rule's figures
	from  Baseline       // start of the sample: the same, or the last change of the rule's action
	blind int64          // cost in a window; keys that were offered less may be missing
}

// start gives o that many bytes. Nothing before now was counted.
func (o *observer) start(bytes int, now window.Instant) {
	o.bytes, o.last = bytes, now
	for n := range o.looked {
		o.looked[n] = now
	}
}

// observe reads as many parts of the suspects as are due by now.
func (g *Gate) observe(now window.Instant) {
	o, rules := &g.observer, g.rules.Load()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.follow(rules, now)
	each := roundOf(rules.list) / lookParts
	o.part += max(0, now.Sub(o.last))
	o.last = now
	for range min(int(o.part/each), lookParts) {
		g.counter.Demands(now, o.looked[o.next], o.next, lookParts, o.take)
		o.looked[o.next] = now
		o.next = (o.next + 1) % lookParts
	}
	o.part %= each
}

// observable reports whether other limits of r can be tried on what its slots hold.
func (r *rule) observable() bool { return r.Mode != mitigation.Off && r.places == nil }

// roundOf returns the time in which all suspects are to be read once. Half the shortest window
// ensures that no cost leaves a window unseen.
func roundOf(rules []*rule) time.Duration {
	round := latestRound
	for _, r := range rules {
		if r.observable() {
			round = min(round, r.Window/2)
		}
	}
	return max(round, soonestRound)
}

// follow adapts the samples to rules, which are in force at now.
func (o *observer) follow(rules *ruleSet, now window.Instant) {
	if o.rules != rules {
		o.rules = rules
		samples := make(map[string]*observed, len(rules.list))
		for _, r := range rules.list {
			if r.observable() {
				samples[r.Name] = o.samples[r.Name].continueAs(r, o.bytes/len(rules.list), now)
			}
		}
		o.samples = samples
	}
	for _, r := range rules.list {
		if s := o.samples[r.Name]; s != nil {
			s.blind = max(s.blind, r.meter.SeenFrom())
		}
	}
}

// continueAs returns s with that many bytes if it is a sample of r as r is now, else a new sample.
// s may be nil.
func (s *observed) continueAs(r *rule, bytes int, now window.Instant) *observed {
	if s.isOf(r) {
		s.Resize(bytes)
		return s
	}
	is := whatifOf(r)
	next := &observed{Sample: whatif.NewSample(is, bytes), rule: is, of: r.from.Since, from: r.from}
	if s != nil && s.of == next.of {
		next.from = Baseline{Since: now, Totals: r.totals()}
	}
	return next
}

// isOf reports whether s is a sample of r as r is now. s may be nil.
func (s *observed) isOf(r *rule) bool {
	return s != nil && s.of == r.from.Since && s.rule == whatifOf(r)
}

// whatifOf returns the part of r that a sample depends on.
func whatifOf(r *rule) whatif.Rule {
	t := whatif.Rule{Limit: r.Limit, Window: r.Window}
	if r.Action == mitigation.Block {
		t.BlockFor = r.BlockFor
	}
	return t
}

// Observation is an estimate, from a sample of keys, of the cost that other limits would have
// refused under a rule.
type Observation struct {
	From      Baseline          // start of the sample
	Keys      int               // number in the sample
	AllFrom   float64           // cost in a window from which every key is in the sample; 0: all keys are
	BlindTo   int64             // cost in a window below which keys may be missing; 0: none is missing
	Late      uint64            // times a key was read too late for a complete view
	Distinct  float64           // estimated number of keys
	Error     float64           // standard error of Distinct, as a share of it
	Demand    float64           // estimated cost offered
	Estimates []whatif.Estimate // by limit, lowest first
}

// Observation returns the figures of the rule called name and the estimate for other limits, and
// false if no such rule is in force. The estimate is zero until a key has been sampled.
func (g *Gate) Observation(name string) (Figures, Observation, bool) {
	r := g.rules.Load().byName[name]
	if r == nil {
		return Figures{}, Observation{}, false
	}
	f := g.figuresOf(r)
	g.observer.mu.Lock()
	defer g.observer.mu.Unlock()
	if s := g.observer.samples[name]; s.isOf(r) {
		return f, s.observation(), true
	}
	return f, Observation{From: f.From}, true
}

// observation returns the estimate of s.
func (s *observed) observation() Observation {
	o := Observation{From: s.from, BlindTo: s.blind, Late: s.Late(), Demand: s.Demand()}
	o.Keys, o.AllFrom = s.Size()
	o.Distinct, o.Error = s.Keys()
	if o.Keys > 0 {
		o.Estimates = s.Estimates()
	}
	return o
}

// take adds one suspect to the sample of its rule.
func (o *observer) take(d *window.Demand) {
	if s := o.samples[d.Rule]; s != nil {
		s.Take(d)
	}
}
