package whatif

import (
	"time"
	"unsafe"

	"github.com/headgate-dev/headgate/sketch"
)

// Held tells from looks at the keys holding places, at random moments of theirs, what fewer places
// than the rule's would deny. By Little's law the share of requests a limit denies is the share of
// the time with places held above, where such requests take as long as the others.
type Held struct {
	// tried, lowest first: at most the rule's own, since more is never held
	limits []int64
	above  []float64          // place-seconds held above each
	over   []*sketch.Distinct // keys seen with more than each
	keys   sketch.Distinct    // keys seen
	held   float64            // place-seconds
	taken  float64            // key-seconds
	most   int64              // places of a key at a single look
}

const distinctBytes = int(unsafe.Sizeof(sketch.Distinct{}))

// NewHeld returns a Held for a rule of limit, in no more than bytes, or 4 KiB.
func NewHeld(limit int64, bytes int) *Held {
	h := &Held{}
	for _, n := range Ladder(limit, max(1, min(maxTried, bytes/distinctBytes-1))) {
		if n <= limit {
			h.limits = append(h.limits, n)
		}
	}
	h.above, h.over = make([]float64, len(h.limits)), make([]*sketch.Distinct, len(h.limits))
	return h
}

// Look adds a key holding so many places, above 0, for the time until the next look.
func (h *Held) Look(key sketch.Index, places int64, lasts time.Duration) {
	h.keys.Note(key)
	h.most = max(h.most, places)
	h.held += float64(places) * lasts.Seconds()
	h.taken += lasts.Seconds()
	for n, limit := range h.limits {
		if places <= limit {
			return
		}
		h.above[n] += float64(places-limit) * lasts.Seconds()
		if h.over[n] == nil {
			h.over[n] = new(sketch.Distinct)
		}
		h.over[n].Note(key)
	}
}

// HeldFigures are the observations of a Held.
type HeldFigures struct {
	Keys float64   // that held places, about
	Most int64     // places of a key at a single look
	Mean float64   // places of a key, while it held any
	Rows []HeldRow // the lowest limit first, up to the rule's own
}

// HeldRow is a number of places.
type HeldRow struct {
	Limit int64
	Share float64 // of the time that places were held, the part above Limit, 0..1
	Keys  float64 // seen with more, about
}

// Figures returns the observations.
func (h *Held) Figures() HeldFigures {
	f := HeldFigures{Keys: h.keys.Estimate(), Most: h.most}
	if h.held == 0 {
		return f
	}
	f.Mean = h.held / h.taken
	for n, limit := range h.limits {
		row := HeldRow{Limit: limit, Share: h.above[n] / h.held}
		if h.over[n] != nil {
			row.Keys = min(f.Keys, h.over[n].Estimate())
		}
		f.Rows = append(f.Rows, row)
	}
	return f
}
