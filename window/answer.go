package window

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
