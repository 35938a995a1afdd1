package sketch

import (
	"math"
	"math/rand/v2"
	"slices"
)

// canaries is how many indices no key has are read to see the noise.
const canaries = 512

func (s *Sketch) drawCanaries() {
	for c := range s.probe {
		//nolint:gosec // which cells are watched is no secret worth more
		s.probe[c] = Index(rand.Uint64())
	}
}

// Noise is the distribution of the counts keys never seen would read at a moment, in units.
type Noise struct {
	Median uint64 // half of them read at most this
	P99    uint64 // 99 % of them read at most this
}

// Noise reads the canaries at sub-window number. The present error, not a bound.
func (s *Sketch) Noise(number uint64) Noise {
	var reads [canaries]uint64
	for c, i := range s.probe {
		reads[c] = s.Count(i, number)
	}
	slices.Sort(reads[:])
	return Noise{Median: reads[canaries/2], P99: reads[canaries*99/100]}
}

// Live describes how full a sketch is at a moment.
type Live struct {
	Fill       float64 // share of cells that count something in the window, 0..1
	Saturated  float64 // share of cells whose newest sub-window is full, 0..1
	ErrorBound float64 // e·N/width in units: exceeded with probability 1 - Confidence
	Confidence float64 // 1 - e^-Rows
}

// Live samples the cells at sub-window number. N/width, the mean of a row, bounds what an unseen
// key reads by Markov's inequality, row by row; the rows are independent.
func (s *Sketch) Live(number uint64) Live {
	var full, fill, total uint64
	// how many cells are looked at for fill and mean.
	step := max(1, len(s.cells)/1024)
	n := uint64(0)
	for c := 0; c < len(s.cells); c += step {
		w := word(s.cells[c].Load()).roll(number)
		total += w.sum()
		fill += min(1, w.sum())
		full += w.newest() / maxCount
		n++
	}
	return Live{
		Fill:       float64(fill) / float64(n),
		Saturated:  float64(full) / float64(n),
		ErrorBound: math.E * float64(total) / float64(n),
		Confidence: 1 - math.Exp(-Rows),
	}
}
