package codec

import (
	"encoding/binary"
	"math"

	"github.com/headgate-dev/headgate/edge/gate/snapshot"
	"github.com/headgate-dev/headgate/window"
)

// The end of a count's record says which of its marks came from other nodes, and which of them
// other nodes have. Without it a restored node would merge the same counts twice.
//
//	kind of the ring's totals · [unless it is 0: period · last · before]
//	sender to other PoPs: 0 nobody, 1 the PoP, 2 this node
//	[unless it is 0: totals sent · totals received]
//	totals = period · [unless it is 0: Periods times  offered · admitted · times]

const (
	// The senders of a key's counts to other PoPs.
	sentByNobody = 0
	sentByPoP    = 1
	sentByNode   = 2
)

// uint64 writes any 64-bit number.
func (w *writer) uint64(n uint64) { w.record = binary.AppendUvarint(w.record, n) }

// uint64 reads a number without a bound.
func (r *reader) uint64() uint64 {
	n, size := binary.Uvarint(r.rest)
	if r.failed || size <= 0 {
		r.failed = true
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

// exchanged writes the part of c that has been exchanged with other nodes.
func (w *writer) exchanged(c *snapshot.Count) {
	w.uint64(uint64(c.Ring.Kind))
	if c.Ring.Kind != 0 {
		w.uint64(uint64(c.Ring.Period))
		w.uint64(c.Ring.Last)
		w.uint64(c.Ring.Before)
	}
	switch {
	case c.Global.Alone:
		w.record = append(w.record, sentByNode)
	case c.Global.Reported.Period|c.Global.Merged.Period != 0:
		w.record = append(w.record, sentByPoP)
	default:
		w.record = append(w.record, sentByNobody)
		return
	}
	w.totals(&c.Global.Reported)
	w.totals(&c.Global.Merged)
}

// totals writes the period of t and its counts; a period of 0 means none.
func (w *writer) totals(t *window.Totals) {
	w.uint64(uint64(t.Period))
	if t.Period == 0 {
		return
	}
	for n := range t.By {
		w.number(t.By[n].Offered)
		w.number(t.By[n].Admitted)
		w.number(t.By[n].Times)
	}
}

// exchanged reads the output of the writer's exchanged, all of it or failed. A PoP that sent must
// have sent or received something.
func (r *reader) exchanged(c *snapshot.Count) {
	if c.Ring.Kind = r.number32(); c.Ring.Kind != 0 {
		c.Ring.Period, c.Ring.Last, c.Ring.Before = r.number32(), r.uint64(), r.uint64()
	}
	by := r.byte()
	if by == sentByNobody {
		return
	}
	c.Global.Alone = by == sentByNode
	r.totals(&c.Global.Reported)
	r.totals(&c.Global.Merged)
	r.failed = r.failed || by > sentByNode ||
		by == sentByPoP && c.Global.Reported.Period|c.Global.Merged.Period == 0
}

// number32 reads a number of 0..MaxUint32.
func (r *reader) number32() uint32 { return uint32(r.number(math.MaxUint32)) }

// totals reads the output of the writer's totals.
func (r *reader) totals(t *window.Totals) {
	if t.Period = r.number32(); t.Period == 0 {
		return
	}
	for n := range t.By {
		t.By[n] = window.PeriodTotals{
			Offered: r.number(maxNumber), Admitted: r.number(maxNumber),
			Times: r.number(maxNumber),
		}
	}
}
