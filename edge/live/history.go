package live

import (
	"math"
	"sync"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
)

// Range is a time range of a History. Every range has Steps steps, so a longer range is coarser.
type Range uint8

// The ranges, shortest first.
const (
	Quarter  Range = iota // 15 minutes in steps of 5 s
	Hour                  // 1 hour in steps of 20 s
	SixHours              // 6 hours in steps of 2 minutes
	Ranges   = 3
)

// Every is the time between two samples: the step of the shortest range. Steps is the number of
// steps each range remembers.
const (
	Every = 5 * time.Second
	Steps = 180
)

// ranges are the names and the steps of the ranges.
var ranges = [Ranges]struct {
	name string
	step time.Duration
}{{"15m", Every}, {"1h", 20 * time.Second}, {"6h", 2 * time.Minute}}

// String returns the length of r: 15m, 1h or 6h.
func (r Range) String() string { return ranges[r].name }

// Step returns the length of a single step of r.
func (r Range) Step() time.Duration { return ranges[r].step }

// ParseRange returns the range whose length is text, and false if there is none.
func ParseRange(text string) (Range, bool) {
	for r := range Range(Ranges) {
		if ranges[r].name == text {
			return r, true
		}
	}
	return 0, false
}

// The values of a series.
const (
	Offered = iota
	Admitted
	Denied
	ShadowDenied
	values
)

// Totals are a series' values since some start. They only grow, unless they restart at zero.
type Totals struct {
	Name   string
	Values [values]float64
}

// Series is the rate of each value of a series, per second, in each step.
type Series struct {
	Name  string
	Rates [values]api.Rates
}

// History remembers the growth of totals over each Range. It takes at most SeriesBytes for each
// name of the last sample, whatever was counted and however long it runs. Its methods may be called
// concurrently. The zero History is empty and ready.
type History struct {
	mu     sync.Mutex
	tracks [Ranges]track
}

// SeriesBytes is the memory of a series in all ranges together: Steps rates of 4 bytes for each of
// 4 values, their last totals, and where the rates begin. A range that never grew takes the last
// two alone.
const SeriesBytes = Ranges * (values*Steps*4 + values*8 + 16)

// track is a History of a range.
type track struct {
	begun  bool
	last   time.Duration // of the last sample
	ends   [Steps]time.Duration
	steps  int // that have been, at most Steps of them remembered
	series map[string]*series
	names  []string // in the order of the last sample
	quiet  *rates   // of a series sampled from the first step on and never grew
}

// series is a name. Of the thousands of limits a file can hold most never grow, and need no rates.
type series struct {
	was   [values]float64
	born  int    // steps before its first sample
	rates *rates // nil: it never grew
}

// rates are those of the remembered steps; NaN is unknown.
type rates [values][Steps]float32

// slack is how much earlier than due a sample may come, because tickers are not exact.
const slack = Every / 10

// Due reports whether it is time for the next sample. at is a reading of a clock that never goes
// back.
func (h *History) Due(at time.Duration) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tracks[Quarter].due(at, Every)
}

// due reports whether the next sample of a track with such steps is due.
func (t *track) due(at, step time.Duration) bool { return !t.begun || at-t.last >= step-slack }

// Sample adds the totals at a time to each range for which a sample is due. Names must differ. A
// new name starts without a past, and a name that is missing from all is forgotten. If samples were
// missed, their steps stay unknown, and the step of this sample gets the mean rate since the last.
func (h *History) Sample(at time.Duration, all []Totals) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for r := range h.tracks {
		if step := Range(r).Step(); h.tracks[r].due(at, step) {
			h.tracks[r].sample(at, step, all)
		}
	}
}

// sample adds the totals at a time. The steps are that long.
func (t *track) sample(at, step time.Duration, all []Totals) {
	gone := at - t.last
	if t.begun {
		for missed := min(int((gone+step/2)/step), Steps) - 1; missed > 0; missed-- {
			t.begin(at - time.Duration(missed)*step)
		}
		t.begin(at)
	}
	if t.quiet == nil {
		t.quiet = new(rates)
	}
	if t.steps > 0 {
		t.quiet.grow([values]float64{}, gone, (t.steps-1)%Steps)
	}
	kept := make(map[string]*series, len(all))
	t.names = t.names[:0]
	for _, is := range all {
		s := t.series[is.Name]
		if s == nil {
			s = &series{born: t.steps}
		} else if s.rates != nil || is.Values != s.was {
			t.grow(s, is.Values, gone)
		}
		s.was = is.Values
		kept[is.Name] = s
		t.names = append(t.names, is.Name)
	}
	t.series, t.last, t.begun = kept, at, true
}

// begin begins a step ending at end, with unknown rates.
func (t *track) begin(end time.Duration) {
	at := t.steps % Steps
	t.ends[at] = end
	t.quiet.forget(at)
	for _, s := range t.series {
		if s.rates != nil {
			s.rates.forget(at)
		}
	}
	t.steps++
}

// forget makes the rates of step at unknown.
func (r *rates) forget(at int) {
	for v := range r {
		r[v][at] = float32(math.NaN())
	}
}

// grow stores the rates of a growth within the time gone.
func (r *rates) grow(by [values]float64, gone time.Duration, at int) {
	for v := range by {
		r[v][at] = float32(by[v] / gone.Seconds())
	}
}

// grow adds the last step of s, which has grown to is within the time gone. A value that fell was
// restarted at an unknown time, so no rate of the step is known.
func (t *track) grow(s *series, is [values]float64, gone time.Duration) {
	at, by := (t.steps-1)%Steps, is
	if s.rates == nil {
		s.rates = t.quietSince(s.born)
	}
	for v := range is {
		if is[v] < s.was[v] {
			s.rates.forget(at)
			return
		}
		by[v] -= s.was[v]
	}
	s.rates.grow(by, gone, at)
}

// quietSince returns the rates of a series that never grew and was not sampled in the first born
// steps.
func (t *track) quietSince(born int) *rates {
	r := *t.quiet
	for step := max(0, t.steps-Steps); step < born; step++ {
		r.forget(step % Steps)
	}
	return &r
}

// Read returns when each remembered step of a range ended, oldest first, and the rates of the
// series called name; of all, in the order of the last sample, if name is empty.
func (h *History) Read(r Range, name string) (ends []time.Duration, all []Series) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := &h.tracks[r]
	count := min(t.steps, Steps)
	first := (t.steps - count) % Steps
	ends = make([]time.Duration, 0, count)
	ends = append(append(ends, t.ends[first:count]...), t.ends[:first]...)
	for _, is := range t.names {
		if name != "" && name != is {
			continue
		}
		one := Series{Name: is}
		known := t.series[is].rates
		if known == nil {
			known = t.quietSince(t.series[is].born)
		}
		for v, rates := range known {
			one.Rates[v] = append(append(make(api.Rates, 0, count), rates[first:count]...),
				rates[:first]...)
		}
		all = append(all, one)
	}
	return ends, all
}
