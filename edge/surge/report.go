package surge

import (
	"maps"
	"math"
	"slices"
	"time"
)

// Report is the state of a watch. It is not changed.
type Report struct {
	State      string // Off, Learning, Quiet or the Kind of a present finding
	Since      time.Time
	Now, Usual float64 // requests a second
	Share      float64 // of the requests, kept now
	Rows       int     // of now
	UsualRows  int
	ReadyIn    time.Duration // of learning
	Findings   []Finding     // newest first
	Begun      map[Kind]uint64
	Sampled    uint64 // requests kept since the start
	Lost       uint64 // of the drawn, not kept
}

// Report returns the state of the last look.
func (w *Watch) Report() *Report {
	r := *w.said.Load()
	r.Lost = w.lost.Load()
	return &r
}

// Find returns the finding of id, nil if there is none.
func (r *Report) Find(id string) *Finding {
	if at := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.ID == id }); at >= 0 {
		return &r.Findings[at]
	}
	return nil
}

// Changes returns the findings begun or ended since the last call.
func (w *Watch) Changes() []Finding {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.changes
	w.changes = nil
	return all
}

// publish makes the report of now.
func (w *Watch) publish(now int64) {
	state, ready := Quiet, time.Duration(0)
	if w.learns() {
		state, ready = Learning, max(0, w.settings.Learn-w.learnt)
	}
	for _, kind := range [...]Kind{Few, Crowd, Attack} { // the worst last
		if slices.ContainsFunc(w.findings, func(f Finding) bool {
			return !f.Over && f.Kind == kind
		}) {
			state = string(kind)
		}
	}
	if w.settings.Sample == 0 {
		state = Off
	}
	if state != w.state {
		w.state, w.since = state, time.Unix(0, now).UTC()
	}
	w.look.clients = nil
	w.said.Store(&Report{
		State: state, Since: w.since, Now: w.look.first, Usual: w.look.usual,
		Share: float64(w.Share.Load()) / math.MaxUint32, Rows: len(w.look.all),
		UsualRows: w.usual.rows(), ReadyIn: ready,
		Findings: slices.Clone(w.findings), Begun: maps.Clone(w.begun), Sampled: w.sampled,
	})
}
