package policy

import (
	"github.com/headgate-dev/headgate/edge/policy/condition"
)

// texts answers which conditions hold for a text: by equality, and for hosts by their domain.
type texts struct {
	Any    bitset // conditions that do not look at the field
	exact  named
	suffix named // by .domain
}

// few is up to how many names are compared singly.
const few = 8

// named finds sets by their names. Few names are compared singly, which is faster than the hash of
// a map.
type named struct {
	sets map[string]bitset
	list []nameSet // of sets, where they are few
	// A bit for each length that occurs: most hosts and methods asked for are of none, and are not
	// hashed.
	lengths [5]uint64 // the lengths naming have, 0 to 318; longer ones are as 319
}

// nameSet is a name and its set.
type nameSet struct {
	name string
	set  bitset
}

// get returns the set called name, a new set if there is none.
func (n *named) get(name string, words int) bitset {
	set := n.sets[name]
	if set == nil {
		set = newBitset(words)
		n.sets[name] = set
		at := lengthOf(len(name))
		n.lengths[at>>6] |= 1 << (at & 63)
		if len(n.list) < few {
			n.list = append(n.list, nameSet{name, set})
		}
	}
	return set
}

func lengthOf(n int) uint { return uint(min(n, 319)) } // not negative

// find returns the set called name, nil if there is none. Most names are of a length that none has.
func (n *named) find(name []byte) bitset {
	if at := lengthOf(len(name)); n.lengths[at>>6]>>(at&63)&1 == 0 {
		return nil
	}
	if len(n.sets) > few {
		return n.sets[string(name)]
	}
	for i := range n.list {
		if n.list[i].name == string(name) {
			return n.list[i].set
		}
	}
	return nil
}

// newTexts returns an empty table of 64 conditions a word.
func newTexts(words int) *texts {
	return &texts{
		Any: newBitset(words), exact: named{sets: map[string]bitset{}},
		suffix: named{sets: map[string]bitset{}},
	}
}

// Add adds condition cond, which holds for each of wants.
func (t *texts) Add(wants []condition.Want, cond int) {
	for i := range wants {
		table := &t.exact
		if wants[i].Kind == condition.WantHost {
			table = &t.suffix
		}
		table.get(wants[i].Text, len(t.Any)).Add(cond)
	}
}

// Finish adds to each set the conditions of wider patterns. *.example.com holds for a.b.example.com
// and for any name a table has below it. At load, so a request takes a set and joins none.
func (t *texts) Finish() {
	for name, set := range t.suffix.sets {
		t.widen(name[1:], set)
	}
	for name, set := range t.exact.sets {
		t.widen(name, set)
	}
}

func (t *texts) widen(name string, set bitset) {
	// Any too: Find returns a set, which must be the whole answer.
	set.or(t.Any)
	for i := range len(name) {
		if wider, ok := t.suffix.sets[name[i:]]; ok && name[i] == '.' {
			set.or(wider)
		}
	}
}

// Find returns the conditions holding for text. From the left, so the longest domain with a set is
// found; its set has those of the shorter in it.
func (t *texts) Find(text []byte) bitset {
	if set := t.exact.find(text); set != nil {
		return set
	}
	if len(t.suffix.sets) > 0 {
		for i, c := range text {
			if c == '.' {
				if set := t.suffix.find(text[i:]); set != nil {
					return set
				}
			}
		}
	}
	return t.Any
}
