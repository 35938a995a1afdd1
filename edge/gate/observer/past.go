package observer

import (
	"math"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
)

const (
	minute  = time.Minute
	quarter = 15 * time.Minute
	// minutes and quarters kept: a day, and an hour with the quarter in which it begins. The newest
	// minutes are kept at more width too.
	keptWide, keptMinutes, keptQuarters = 5, 75, 96
	// widths of the cells, in units of 15 for a MiB of memory; the cost of denials has a third
	wideUnits, minuteUnits = 48, 8

	ringShare   = 8  // divides the memory
	maxVersions = 16 // of a rule's numbers

	unknown = math.MaxInt64 // and sums of such still fit
	maxLost = 64            // rules with lost cost of their own in a step
	// noRecord is in the place of a rule where denials left no record.
	noRecord = "/"
	// spilled ends the name of a rule whose keys lost their slots.
	spilled = "/spilled"
)

// step is a minute or a quarter of an hour.
type step struct {
	number          int64 // since 1970
	offered, denied cells
	total           uint64 // cost under all rules
	// cost in a window that keys of a rule, "" of any, may have had without a slot; unknown
	lost map[string]uint64
}

// series is the last steps of a length.
type series struct {
	each  window.Instant
	steps []step
}

// newSeries returns n steps with width cells a row.
func newSeries(each time.Duration, n, width int) series {
	s := series{each: window.Instant(each), steps: make([]step, n)}
	for k := range s.steps {
		s.steps[k].offered = make(cells, sketch.Rows*width)
		s.steps[k].denied = make(cells, sketch.Rows*width/3)
	}
	return s
}

// at returns the step of at, nil if not kept.
func (s *series) at(at window.Instant) *step {
	n := int64(at / s.each)
	if is := &s.steps[n%int64(len(s.steps))]; is.number == n {
		return is
	}
	return nil
}

// advance begins the steps up to now.
func (s *series) advance(now window.Instant) {
	n := int64(now / s.each)
	for k := n - int64(len(s.steps)) + 1; k <= n; k++ {
		if is := &s.steps[k%int64(len(s.steps))]; is.number < k {
			clear(is.offered)
			clear(is.denied)
			*is = step{number: k, offered: is.offered, denied: is.denied}
		}
	}
}

// Version is the numbers of a rule from At on.
type Version struct {
	At     window.Instant
	Limit  int64
	Window time.Duration
}

// followed is a rule whose keys are counted.
type followed struct {
	*Subject
	unslotted window.Unslotted
	probe     sketch.Index   // of no key: changes with the indexes of all
	since     window.Instant // keys have had these indexes
	versions  []Version      // oldest first
}

// sub returns the length of a sub-window.
func (r *Subject) sub() time.Duration { return r.Rule.Window / window.SubWindows }

// past is the cost of keys by minutes and quarters, under the lock of the observer.
type past struct {
	denials       *Denials // nil: nothing is kept
	bytes         int
	all           [3]series // minutes at more width, minutes, quarters
	rules         map[string]*followed
	began, turned window.Instant
	losses, total uint64
	incomplete    uint64 // steps of rules
}

// Keep has o keep the past of keys in that many bytes, of so many lanes, from now on. Returns where
// lanes note denials.
func (o *Observer) Keep(bytes, lanes int, now window.Instant) *Denials {
	unit := bytes * 15 >> 20 / 3 * 3
	o.past = past{
		denials: newRing(bytes/ringShare, lanes), bytes: bytes, turned: now,
		began: now - now%window.Instant(minute), all: [...]series{
			newSeries(minute, keptWide, wideUnits*unit),
			newSeries(minute, keptMinutes, minuteUnits*unit),
			newSeries(quarter, keptQuarters, unit),
		},
	}
	o.past.advance(now, nil)
	return o.past.denials
}

// advance begins the steps up to now, with the cost under set in those before.
func (p *past) advance(now window.Instant, set *Set) {
	sum := uint64(0)
	for i := 0; set != nil && i < len(set.Subjects); i++ {
		totals := set.Subjects[i].Totals()
		sum += uint64(set.Subjects[i].Rule.Units(int64(totals.Offered())))
	}
	for k := range p.all {
		if is := p.all[k].at(p.turned); is != nil {
			is.total += sum - min(sum, p.total) // fewer: a rule is gone
		}
		p.all[k].advance(now)
	}
	p.total = sum
}

// turn is for every observation, with the slots of c.
func (p *past) turn(now window.Instant, set *Set, c *window.Counter) {
	if p.denials == nil {
		return
	}
	if now/window.Instant(minute) != p.turned/window.Instant(minute) {
		p.advance(now, set)
	}
	if losses := c.Losses(); losses != p.losses {
		p.losses = losses
		p.lose(now, quarter/window.SubWindows, "", unknown)
	}
	for name, r := range p.rules {
		if r.Rule.Kind != mitigation.Window {
			continue
		}
		was, is := r.unslotted, r.Meter.Unslotted()
		// All suspects are read in half a window, and a slot is given away after a window.
		if r.unslotted = is; is.Astray != was.Astray || now.Sub(p.turned) > r.Rule.Window/4 {
			is.Most = unknown
		}
		p.lose(now, r.sub(), name, is.Most)
		p.lose(now, r.sub(), name+spilled, is.Spilled-was.Spilled)
	}
	p.readDenials(now)
	p.turned = now
}

// lose notes that keys of the rule may have had so much cost in a window without a slot: in the
// sub-windows, of length sub, not read by now.
func (p *past) lose(now window.Instant, sub time.Duration, rule string, cost uint64) {
	if cost == 0 {
		return
	}
	from := max(p.began, min(p.turned, now.Add(-latestRound-sub)))
	p.each(from, now+1, func(s *series, is *step, _ bool) {
		rule, sums := rule, strings.HasSuffix(rule, spilled)
		was, known := is.lost[rule]
		switch {
		case is.lost == nil:
			is.lost = map[string]uint64{}
		case !known && len(is.lost) >= maxLost && rule != noRecord:
			if rule = ""; sums {
				rule = spilled
			}
			was = is.lost[rule]
		}
		if is.lost[rule] = max(was, cost); sums {
			is.lost[rule] = was + cost
		}
		if cost == unknown && was < cost && s != &p.all[0] { // else counted twice
			p.incomplete++
		}
	})
}

// each calls do with the steps of the time [from, end). whole: a single step has all.
func (p *past) each(from, end window.Instant, do func(s *series, is *step, whole bool)) {
	for k := range p.all {
		s := &p.all[k]
		for at := from; at < end; at += s.each - at%s.each {
			if is := s.at(at); is != nil {
				do(s, is, from/s.each == (end-1)/s.each)
			}
		}
	}
}

// follow adapts p to set, which is in force at now.
func (p *past) follow(set *Set, now window.Instant) {
	if p.denials == nil {
		return
	}
	rules := make(map[string]*followed, len(set.Subjects))
	for i := range set.Subjects {
		s := &set.Subjects[i]
		r := &followed{
			Subject: s, probe: s.Meter.Index(nil), since: now,
			versions: []Version{{now, s.Rule.Limit, s.Rule.Window}},
		}
		if p.rules == nil {
			r.since = p.began
		}
		was := p.rules[s.Rule.Name]
		if was != nil && was.probe == r.probe {
			r.since, r.unslotted = was.since, was.unslotted
		} else {
			r.unslotted = s.Meter.Unslotted()
		}
		if was != nil {
			last := &was.versions[len(was.versions)-1]
			if last.Limit != s.Rule.Limit || last.Window != s.Rule.Window {
				p.lose(now, r.sub(), s.Rule.Name, unknown) // logs are cut to the new limit
				was.versions = append(was.versions, r.versions...)
			}
			r.versions = was.versions[max(0, len(was.versions)-maxVersions):]
		}
		rules[s.Rule.Name] = r
	}
	p.rules = rules
}

// take adds the demand of a suspect.
func (p *past) take(d *window.Demand) {
	r := p.rules[d.Rule]
	if r == nil {
		return
	}
	sub := window.Instant(r.sub())
	for at := 0; at < min(d.Fresh, window.WholeSlices); at += window.SliceParts {
		cost := uint64(0)
		for _, of := range d.Cost[at : at+window.SliceParts] {
			cost += of
		}
		end := window.Instant(d.Newest+1-uint64(at)) / window.SliceParts * sub
		if cost == 0 || end <= d.Since {
			continue
		}
		p.each(end-sub, end, func(_ *series, is *step, whole bool) {
			if whole {
				is.offered.add(d.Index, cost, 0)
			} else {
				is.offered.add(d.Index, 0, cost)
			}
		})
	}
}

// readDenials adds the records that do not change any more to the steps.
func (p *past) readDenials(now window.Instant) {
	d := p.denials
	if dropped := d.Dropped(); dropped != d.dropped || d.next.Load()-d.read > d.size() {
		d.dropped = dropped
		p.lose(now, 0, noRecord, unknown)
	}
	for n, is := range d.from(d.read) {
		if is.key == 0 || now.Sub(is.At) < settled {
			return
		}
		p.each(is.At, is.At+1, func(_ *series, in *step, _ bool) {
			in.denied.add(is.key, is.cost, 0)
		})
		d.read = n + 1
	}
}
