package observer

import (
	"math"

	"github.com/headgate-dev/headgate/sketch"
)

// cell is a place that keys share: the sum of their cost, and the key that won the vote. In a vote
// each unit of cost is for its key, and against another that leads (Boyer and Moore, 1981).
type cell struct {
	sum uint32 // twice the cost whose step is not certain included; math.MaxUint32: unknown
	key uint32 // bits of the leading key's index
	net uint32 // its lead, no more than its cost
}

// cells is a sketch of the cost of keys in a step, with a bound from below too (MV-Sketch: Tang,
// Huang and Lee, 2019).
type cells []cell

// width returns the number of cells a row.
func (t cells) width() uint64 { return uint64(len(t) / sketch.Rows) }

// add counts cost of i, and perhaps more.
func (t cells) add(i sketch.Index, cost, more uint64) {
	for row := range sketch.Rows {
		c := &t[uint64(row)*t.width()+i.Place(row, t.width())]
		c.sum = uint32(min(uint64(c.sum)+cost+2*more, math.MaxUint32))
		switch votes := uint32(min(cost, math.MaxUint32)); {
		case c.key == uint32(i):
			c.net = uint32(min(uint64(c.net)+cost, math.MaxUint32))
		case c.net >= votes:
			c.net -= votes
		default:
			c.key, c.net = uint32(i), votes-c.net
		}
	}
}

// bounds returns the cost of i at least, and at most, or unknown. A key with the 32
// bits of another is taken for the other: by chance, every 2^32nd is.
func (t cells) bounds(i sketch.Index) (least, most uint64) {
	most = unknown
	for row := range sketch.Rows {
		c := t[uint64(row)*t.width()+i.Place(row, t.width())]
		switch sum := uint64(c.sum); {
		case sum == math.MaxUint32:
		case c.key == uint32(i):
			least, most = max(least, uint64(c.net)), min(most, (sum+uint64(c.net))/2)
		default:
			most = min(most, (sum-uint64(c.net))/2)
		}
	}
	return least, most
}

// errorOf returns how much too high the upper of these bounds of a key is at most, but for a key of
// 54: half of the cost of other keys in a cell, e times, and more; and no more than their distance.
func (t cells) errorOf(b Bounds, more uint64) float64 {
	sum := 0.0
	for n := range t.width() {
		sum += float64(t[n].sum)
	}
	return min(math.E*sum/float64(2*t.width())+float64(more), float64(b.Most-b.Least))
}
