package observer

import (
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
)

// Bounds are a cost that is not known exactly.
type Bounds struct{ Least, Most uint64 }

// Step is a minute, or a quarter of an hour, of a key.
type Step struct {
	From       window.Instant
	Each       time.Duration
	Open       bool // running
	Incomplete bool // Offered.Most is not known
	Dropped    bool // Denied.Most is not known
	Total      uint64
	Offered    Bounds
	Denied     Bounds
	Error      float64 // that the upper bounds are too high, at most, but with chance e^-4
	Limit      Version // of the rule, when the step began or the node started
}

// Past is the answer about the past of a key.
type Past struct {
	Steps   []Step   // oldest first
	Denials []Denial // of the steps, newest first
}

// Kept returns from when on the past is kept at now; false: it is not kept.
func (o *Observer) Kept(now window.Instant) (since window.Instant, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	day := now.Add(-(keptQuarters - 1) * quarter)
	return max(o.past.began, day-day%window.Instant(quarter)), o.past.denials != nil
}

// History returns the figures of the past for metrics: bytes, steps of rules that are incomplete,
// and denials without a record.
func (o *Observer) History() (bytes int, incomplete, dropped uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.past.bytes, o.past.incomplete, o.past.denials.Dropped()
}

// Asked is a time in the past of a key, as of Now.
type Asked struct{ From, To, Now window.Instant }

// Past returns the past of the key of r with index i, where set is in force. A time of the last
// hour is answered by minutes, an earlier time by quarters. The past is to be kept.
func (o *Observer) Past(set *Set, r *Subject, i sketch.Index, a Asked) (is Past) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now, p := a.Now, &o.past
	if o.set == nil { // before the first look; later ones alone follow a reload
		o.follow(set, now)
	}
	p.advance(now, set)
	of := about{Subject: r, followed: p.rules[r.Rule.Name], key: i, now: now}
	for _, d := range p.denials.from(p.denials.read) {
		if d.key == i {
			of.unread = append(of.unread, d)
		}
	}
	if of.running, of.runs = r.Meter.Running(now, i, lookParts); of.runs {
		of.looked = o.looked[of.running.Part]
	}
	hour := now.Add(-time.Hour + minute)
	hour -= hour % window.Instant(quarter)
	for at := max(a.From, p.began); at <= min(a.To, now); {
		s := &p.all[2]
		if at >= hour {
			if s = &p.all[1]; p.all[0].at(at) != nil {
				s = &p.all[0]
			}
		}
		if in := s.at(at); in != nil {
			is.Steps = append(is.Steps, of.step(s, in))
		}
		at += s.each - at%s.each
	}
	is.Denials = p.denials.of(i, is.Steps)
	return is
}

// about is the key and the rule of an answer, with the cost not in a step yet.
type about struct {
	*Subject
	followed *followed // nil: keys are not counted
	key      sketch.Index
	now      window.Instant
	unread   []Denial
	running  window.Running
	runs     bool           // a suspect
	looked   window.Instant // last
}

// step returns step in of s.
func (a *about) step(s *series, in *step) Step {
	f, sub := a.followed, a.sub()
	is := Step{
		From: window.Instant(in.number) * s.each, Each: time.Duration(s.each),
		Open: in == s.at(a.now), Total: in.total,
	}
	if is.Dropped = f == nil || is.From < f.since; f != nil {
		is.Limit = f.at(is.From)
	}
	// Logs that have the denied cost too tell it twice.
	is.Incomplete = is.Dropped || a.Rule.Kind != mitigation.Window || a.Shared || sub > is.Each ||
		a.Rule.Counts == mitigation.CountOffered
	is.Denied.Least, is.Denied.Most = in.denied.bounds(a.key)
	for _, d := range a.unread {
		if s.at(d.At) == in {
			is.Denied.Least, is.Denied.Most = is.Denied.Least+d.cost, is.Denied.Most+d.cost
		}
	}
	is.Dropped = is.Dropped || in.lost[noRecord] > 0 || is.Denied.Most >= unknown
	if !is.Dropped {
		is.Error = in.denied.errorOf(is.Denied, 0)
	}
	if is.Incomplete {
		return is
	}
	is.Offered.Least, is.Offered.Most = in.offered.bounds(a.key)
	a.addRunning(&is)
	blind := max(in.lost[""], in.lost[a.Rule.Name])
	// A mark of a log may be told in the sub-window after, and keys without a slot have a part of
	// two windows in a window.
	more := uint64(a.Meter.Mark()-1) * uint64(is.Each/sub+1)
	is.Offered.Least -= min(more, is.Offered.Least)
	if is.Incomplete = max(blind, is.Offered.Most) >= unknown; !is.Incomplete {
		more += 2*blind*uint64(is.Each/a.Rule.Window+2) + in.lost[spilled] +
			in.lost[a.Rule.Name+spilled]
		is.Offered.Most += more
		is.Error = max(is.Error, in.offered.errorOf(is.Offered, more))
	}
	return is
}

// at returns the numbers of r at a time, or the first that are known.
func (r *followed) at(at window.Instant) Version {
	is := r.versions[0]
	for _, v := range r.versions {
		if v.At <= at {
			is = v
		}
	}
	return is
}

// addRunning adds the cost not read by a look.
func (a *about) addRunning(is *Step) {
	sub, end := window.Instant(a.sub()), is.From.Add(is.Each)
	for back, cost := range a.running.Cost {
		begin := window.Instant(a.running.Newest-uint64(back)) * sub
		if !a.runs || begin < a.looked/sub*sub || begin+sub <= max(a.running.Since, is.From) ||
			begin >= end {
			continue
		}
		is.Offered.Most += cost
		if begin >= is.From && min(begin+sub, a.now+1) <= end {
			is.Offered.Least += cost
		}
	}
}
