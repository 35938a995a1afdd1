package pool

import "time"

// Marks is how many parts of equal size the shares in use are told apart by.
const Marks = 20

// Seen is for how many steps, a second each, a pool was how busy, and how much it shed, since it
// was made.
type Seen struct {
	// by the mean of the sources, in parts of 1/Marks; the last is all of it
	Means    [Marks + 1]uint64
	Silent   uint64 // without a report
	Shedding uint64 // at a level above 0
	// by tier, in their order: the sum of the shares of its requests that were to be denied
	Levels [MaxTiers]float64
}

// note adds a step at that level.
func (s *Seen) note(level int64) {
	if level > 0 {
		s.Shedding++
	}
	for i := range s.Levels {
		s.Levels[i] += float64(min(max(level-int64(i)*Unit, 0), Unit)) / Unit
	}
}

// Heard returns for how long there were reports.
func (s *Seen) Heard() time.Duration {
	steps := uint64(0)
	for _, n := range s.Means {
		steps += n
	}
	return time.Duration(steps) * step
}

// Above returns the part of that time in which the mean was at least n parts of Marks, 0..1.
func (s *Seen) Above(n int) float64 {
	sum, all := uint64(0), uint64(0)
	for i, steps := range s.Means {
		if all += steps; i >= n {
			sum += steps
		}
	}
	return float64(sum) / float64(max(1, all))
}
