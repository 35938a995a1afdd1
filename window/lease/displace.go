package lease

import (
	"github.com/headgate-dev/headgate/window"
)

// displace ends a lease among some drawn by chance: the oldest of the key using the least share of
// the limit, or of several such the first begun. False: each key is at the limit.
func (t *Table) displace(chance func() uint64) bool {
	var luck uint64
	var began window.Instant
	victim, least := uint16(0), 1.0
	// how many leases displace looks at, four a random number.
	for n := range 8 {
		if luck >>= 16; n%4 == 0 {
			luck = chance()
		}
		at := t.ends.At(int(luck & 0xffff * uint64(t.ends.Len()) >> 16))
		h := &t.holders[t.records[at].holder]
		share, r := float64(h.places)/t.rules[h.rule].limit, &t.records[h.oldest]
		since := r.until.Add(-r.length())
		if share < least || share == least && share < 1 && since < began {
			victim, least, began = h.oldest, share, since
		}
	}
	if least >= 1 {
		return false
	}
	t.ends.Leave(victim)
	t.drop(victim)
	t.stats.Displaced++
	return true
}
