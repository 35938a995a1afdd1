package window

import "time"

// Merge takes total, the shared counter's value after d.Delta was added, into the key's slot.
// server is the number of the server that answered, 0 or more. The others' part is
//
//	remote = total - base - Delta
//
// where base is the total this node knew before. The answer's admissions go into the slot's log,
// each as early as possible; the refusals count as offered. Merging keeps a node's log at or below
// the real cost in the window: nobody is refused for remote cost longer than a window.
//
// ok reports whether standing is set. False when the slot is gone, for a period that ended, for the
// first total after rebase, and for an impossible total.
func (c *Counter) Merge(f Flush, d *Due, total uint64, server int) (standing Standing, ok bool) {
	switch d.kind {
	case costDue:
		if total < d.base {
			c.sync.refunds.forgot = f.Now
		}
		return c.mergeCost(f, d, total, server)
	case refundDue:
		c.mergeRefund(f, d, total)
	case hintDue:
		d.meter.mergeHint(f, total)
	}
	return standing, false
}

// Count is the state of a key's trailing window as a request finds the key.
type Count struct {
	Fits  bool          // admitted + cost <= limit
	Used  int64         // cost in the window, this request's included if it was admitted
	Wait  time.Duration // until the cost would fit; 0 when it does; the window when it never will
	Reset time.Duration // until some of Used leaves the window
	Exact bool          // Used comes from a slot, not from the sketch
	// it does not fit by the word of other nodes, or by a brief entry: this node's own exact count
	// may show no excess
	Told  bool
	Brief bool // it does not fit by a brief entry
	// part of a row of refusals recorded together: the refusal before was not, and was the caller's
	// occasion to note that the key is being refused
	Folded bool
}
