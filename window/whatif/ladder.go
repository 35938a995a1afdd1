package whatif

import (
	"maps"
	"slices"
	"strings"
)

// maxTried is how many limits are tried singly: as many as a word has bits.
const maxTried = 64

// finest are the steps of a tried decade, coarse the steps of a table.
var (
	finest = [...]int64{10, 12, 15, 20, 25, 30, 40, 50, 60, 80}
	coarse = [...]int64{1, 2, 5}
)

// Ladder returns at most n limits to try, lowest first: ten to a decade, and the rule's own.
func Ladder(own int64, n int) []int64 {
	limits := []int64{own}
	for tens := int64(1); len(limits) < n; tens *= 10 {
		for _, step := range finest {
			if limit := step * tens / 10; step*tens%10 == 0 && limit != own && len(limits) < n {
				limits = append(limits, limit)
			}
		}
	}
	slices.Sort(limits)
	return slices.Compact(limits)
}

// Shown returns the limits a table shows, lowest first: 1, 2, 5, 10 … below highest, highest
// itself, and those with a note.
func Shown(highest int64, notes map[int64]string) []int64 {
	limits := append(slices.Collect(maps.Keys(notes)), highest)
	for tens := int64(1); tens < highest; tens *= 10 {
		for _, step := range coarse {
			if step*tens < highest {
				limits = append(limits, step*tens)
			}
		}
	}
	slices.Sort(limits)
	return slices.Compact(limits)
}

// Notes returns a note on each limit standing out. The rule's own; for 5, 1 and 0.1 percent the
// limit from which no more is refused, by least, which returns 0 for unknown; and highest, from
// which nothing is refused (0: not known).
func Notes(own, highest int64, least func(share float64) int64) map[int64]string {
	notes := make(map[int64]string)
	for _, s := range [...]struct {
		share float64
		note  string
	}{{0.05, "at most 5 %"}, {0.01, "at most 1 %"}, {0.001, "at most 0.1 %"}} {
		if limit := least(s.share); limit > 0 {
			notes[limit] = s.note
		}
	}
	if highest > 0 {
		notes[highest] = "denies nothing"
	}
	notes[own] = strings.TrimSuffix("the rule's limit, "+notes[own], ", ")
	return notes
}
