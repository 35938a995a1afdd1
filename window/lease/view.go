package lease

import (
	"cmp"
	"slices"
	"time"

	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
)

// Lease is a lease, for people.
type Lease struct {
	Number uint64
	Cost   int64          // places
	Since  window.Instant // when it began, or was renewed last
	Until  window.Instant
}

// Leases returns the key's leases at now, oldest first, up to most.
func (t *Table) Leases(now window.Instant, i sketch.Index, most int) []Lease {
	t.Begin(now)
	defer t.End()
	h := t.find(i)
	if h == nil {
		return nil
	}
	var list []Lease
	for at := h.oldest; len(list) < most; at = t.records[at].newer {
		r := &t.records[at]
		list = append(list, Lease{
			number(at, r), int64(r.cost()),
			r.until.Add(-r.length()), r.until,
		})
		if r.newer == at {
			break
		}
	}
	return list
}

// Left returns the time until the key's newest lease ends, 0 if none. Called between Begin and End.
func (t *Table) Left(now window.Instant, i sketch.Index) time.Duration {
	if h := t.find(i); h != nil {
		return t.records[h.newest].until.Sub(now)
	}
	return 0
}

// Held is a key holding places, for people.
type Held struct {
	Key    []byte
	Cut    bool // the key is longer than Key, its beginning
	Places int64
	Oldest window.Instant // when its oldest lease began
}

// Held returns the keys holding most places under the rule of number at now, up to most, and how
// many keys hold any.
func (t *Table) Held(now window.Instant, rule uint16, most int) (list []Held, keys int) {
	t.Begin(now)
	defer t.End()
	if int(rule) >= len(t.rules) || t.rules[rule].keys == 0 {
		return nil, 0
	}
	for _, h := range t.mostPlaces(rule, most) {
		r := &t.records[h.oldest]
		n := min(int(h.length), keyText)
		list = append(list, Held{
			slices.Clone(h.text[:n]), int(h.length) > keyText, int64(h.places),
			r.until.Add(-r.length()),
		})
	}
	return list, t.rules[rule].keys
}

// mostPlaces returns the most keys with places under rule holding most, in order. Few are sorted at
// a time: decisions wait meanwhile.
func (t *Table) mostPlaces(rule uint16, most int) (found []*holder) {
	floor := uint32(0) // keys with no more places are not among them
	cut := func() {
		slices.SortFunc(found, func(a, b *holder) int { return cmp.Compare(b.places, a.places) })
		if len(found) >= most {
			found, floor = found[:most], found[most-1].places
		}
	}
	for i := range t.holders[:t.freshHolder] {
		if h := &t.holders[i]; h.places > floor && h.rule == rule {
			if found = append(found, h); len(found) >= 2*most {
				cut()
			}
		}
	}
	cut()
	return found
}

// RuleUse is how much of a rule's places is taken.
type RuleUse struct {
	Keys           int // that hold places
	Places, Leases uint64
	Lost           int // leases that ended by their time, in a row until now
}

// Use returns how much is taken under the rule of number at now.
func (t *Table) Use(now window.Instant, rule uint16) RuleUse {
	t.Begin(now)
	defer t.End()
	if int(rule) >= len(t.rules) {
		return RuleUse{}
	}
	s := &t.rules[rule]
	return RuleUse{s.keys, s.places, s.leases, s.lost}
}

// Holding is how many places a key holds.
type Holding struct {
	Rule   uint16 // number
	Index  sketch.Index
	Places int64
}

// AppendHoldings appends the leases at now of the keys in part part, 0..parts-1, of the table.
// About 2 ns a key while decisions wait.
func (t *Table) AppendHoldings(dst []Holding, now window.Instant, part, parts int) []Holding {
	t.Begin(now)
	defer t.End()
	n := len(t.holders)
	for i := n * part / parts; i < min(n*(part+1)/parts, t.freshHolder); i++ {
		if h := &t.holders[i]; h.places > 0 {
			dst = append(dst, Holding{h.rule, h.index, int64(h.places)})
		}
	}
	return dst
}
