package edge

import (
	"sync"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/trial"
)

const (
	// observerShare is the part of the configured memory that is used, beside it, for trying other limits.
	observerShare = 16
	// lookParts is in how many parts the suspects are looked at.
	lookParts = 50
	// soonestRound and latestRound bound the time in which all suspects are looked at once.
	soonestRound, latestRound = 500 * time.Millisecond, 5 * time.Second
)

// observer watches, beside the decisions, what keys ask for, and what other limits would do to it. It is part of Run's
// loop: it reads the slots that decisions keep anyway, a part of them at a time.
type observer struct {
	mu      sync.Mutex
	bytes   int                  // for all samples
	rules   *ruleSet             // that the samples are of
	samples map[string]*observed // by rule
	next    int                  // part to look at
	part    time.Duration        // time not yet used up by looking at parts
	last    window.Instant
	looked  [lookParts]window.Instant
}

// observed is what is known of one rule's keys.
type observed struct {
	*trial.Sample
	rule  trial.Rule
	of    window.Instant // since when the rule's figures are
	from  baseline       // when the sample began: then, or when the rule's action changed
	blind int64          // keys that ask for less in a window may be missing
}

// start gives o so many bytes, and says that nothing was counted before now.
func (o *observer) start(bytes int, now window.Instant) {
	o.bytes, o.last = bytes, now
	for n := range o.looked {
		o.looked[n] = now
	}
}

// observe looks at as many parts of the suspects as are due by now.
func (e *Edge) observe(now window.Instant) {
	o, rules := &e.observer, e.rules.Load()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.follow(rules, now)
	each := roundOf(rules.list) / lookParts
	o.part += max(0, now.Sub(o.last))
	o.last = now
	for range min(int(o.part/each), lookParts) {
		e.counter.Demands(now, o.looked[o.next], o.next, lookParts, o.take)
		o.looked[o.next] = now
		o.next = (o.next + 1) % lookParts
	}
	o.part %= each
}

// roundOf returns the time in which all suspects are to be looked at: twice in the shortest window, so that nothing they
// hold of it goes by unseen.
func roundOf(rules []*rule) time.Duration {
	round := latestRound
	for _, r := range rules {
		if r.Mode != mitigation.Off {
			round = min(round, r.Window/2)
		}
	}
	return max(round, soonestRound)
}

// follow makes the samples those of the rules in force at now.
func (o *observer) follow(rules *ruleSet, now window.Instant) {
	if o.rules != rules {
		o.rules = rules
		samples := make(map[string]*observed, len(rules.list))
		for _, r := range rules.list {
			if r.Mode != mitigation.Off {
				samples[r.Name] = o.samples[r.Name].goOn(r, o.bytes/len(rules.list), now)
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

// goOn returns s, if it is of the limit, the window and the block that r has, else a new one, of so many bytes. s may be nil.
func (s *observed) goOn(r *rule, bytes int, now window.Instant) *observed {
	if s.isOf(r) {
		s.Resize(bytes)
		return s
	}
	is := trialOf(r)
	next := &observed{Sample: trial.NewSample(is, bytes), rule: is, of: r.from.since, from: r.from}
	if s != nil && s.of == next.of {
		next.from = baseline{since: now, totals: r.totals()}
	}
	return next
}

// isOf reports whether s is what is known of r's keys as r is now. s may be nil.
func (s *observed) isOf(r *rule) bool {
	return s != nil && s.of == r.from.since && s.rule == trialOf(r)
}

// trialOf returns what is tried of r under other limits.
func trialOf(r *rule) trial.Rule {
	t := trial.Rule{Limit: r.Limit, Window: r.Window}
	if r.Action == mitigation.Block {
		t.BlockFor = r.BlockFor
	}
	return t
}

// take takes in one suspect.
func (o *observer) take(d *window.Demand) {
	if s := o.samples[d.Rule]; s != nil {
		s.Take(d)
	}
}
