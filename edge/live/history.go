package live

import (
	"math"
	"sync"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
)

// Resolution and length of a History.
const (
	Every = 5 * time.Second
	Steps = 180 // 15 minutes
)

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
	Values [values]uint64
}

// Series is the rate of each value of a series, per second, in each step.
type Series struct {
	Name  string
	Rates [values]api.Rates
}

// History remembers the growth of totals over the last Steps steps. It takes about 3 KiB for each
// name of the last sample. Its methods may be called concurrently. The zero History is empty and
// ready.
type History struct {
	mu     sync.Mutex
	begun  bool
	last   time.Duration // of the last sample
	ends   [Steps]time.Duration
	steps  int // that have been, at most Steps of them remembered
	series map[string]*series
	names  []string // in the order of the last sample
}

type series struct {
	was   [values]uint64
	rates [values][Steps]float32
}

// slack is how much earlier than due a sample may come, because tickers are not exact.
const slack = Every / 10

// Due reports whether it is time for the next sample. at is a reading of a clock that never goes
// back.
func (h *History) Due(at time.Duration) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.due(at)
}

// due is Due for a caller that holds the lock.
func (h *History) due(at time.Duration) bool { return !h.begun || at-h.last >= Every-slack }

// Sample adds the totals at a time, and does nothing if no sample is due. Names must differ. A new
// name starts without a past, and a name that is missing from all is forgotten. If samples were
// missed, their steps stay unknown, and the step of this sample gets the mean rate since the last
// one.
func (h *History) Sample(at time.Duration, all []Totals) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.due(at) {
		return
	}
	gone := at - h.last
	if h.begun {
		for missed := min(int((gone+Every/2)/Every), Steps) - 1; missed > 0; missed-- {
			h.step(at - time.Duration(missed)*Every)
		}
		h.step(at)
	}
	kept := make(map[string]*series, len(all))
	h.names = h.names[:0]
	for _, is := range all {
		s := h.series[is.Name]
		if s == nil {
			s = newSeries()
		} else {
			s.grow(is.Values, gone, (h.steps-1)%Steps)
		}
		s.was = is.Values
		kept[is.Name] = s
		h.names = append(h.names, is.Name)
	}
	h.series, h.last, h.begun = kept, at, true
}

// step begins a step that ends at end, with unknown rates.
func (h *History) step(end time.Duration) {
	at := h.steps % Steps
	h.ends[at] = end
	for _, s := range h.series {
		s.forget(at)
	}
	h.steps++
}

// newSeries returns a series without any known rate.
func newSeries() *series {
	s := &series{}
	for at := range Steps {
		s.forget(at)
	}
	return s
}

// forget makes the rates of step at unknown.
func (s *series) forget(at int) {
	for v := range s.rates {
		s.rates[v][at] = float32(math.NaN())
	}
}

// grow stores the rates of the growth within the time gone. A value that fell was restarted at an
// unknown time, so that no rate of the step is known.
func (s *series) grow(is [values]uint64, gone time.Duration, at int) {
	for v := range is {
		if is[v] < s.was[v] {
			return
		}
	}
	for v := range is {
		s.rates[v][at] = float32(float64(is[v]-s.was[v]) / gone.Seconds())
	}
}

// Read returns when each remembered step ended, oldest first, and the rates of the series called
// name; of all, in the order of the last sample, if name is empty.
func (h *History) Read(name string) (ends []time.Duration, all []Series) {
	h.mu.Lock()
	defer h.mu.Unlock()
	count := min(h.steps, Steps)
	first := (h.steps - count) % Steps
	ends = make([]time.Duration, 0, count)
	ends = append(append(ends, h.ends[first:count]...), h.ends[:first]...)
	for _, is := range h.names {
		if name != "" && name != is {
			continue
		}
		one := Series{Name: is}
		for v, rates := range h.series[is].rates {
			one.Rates[v] = append(append(make(api.Rates, 0, count), rates[first:count]...), rates[:first]...)
		}
		all = append(all, one)
	}
	return ends, all
}
