package policy

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/headgate-dev/headgate/edge/policy/condition"
	"github.com/headgate-dev/headgate/edge/policy/sets"
)

// bitset has one bit a condition.
type bitset []uint64

func newBits(words int) bitset { return make(bitset, words) }
func (b bitset) add(i int)     { b[i>>6] |= 1 << (i & 63) }
func (b bitset) or(other bitset) {
	for i, w := range other {
		b[i] |= w
	}
}

// texts answers which conditions hold for a text: by equality, and for hosts by their domain.
type texts struct {
	any    bitset // conditions that do not look at the field
	exact  named
	suffix named // by .domain
}

// few is up to how many names are compared one by one.
const few = 8

// named finds sets by their names.
type named struct {
	sets    map[string]bitset
	list    []nameSet // of sets, where they are few
	lengths [5]uint64 // the lengths that names have, 0 to 318; longer ones are as 319
}

// nameSet is one name and its set.
type nameSet struct {
	name string
	set  bitset
}

func (n *named) get(name string, words int) bitset {
	set := n.sets[name]
	if set == nil {
		set = newBits(words)
		n.sets[name] = set
		at := lengthOf(len(name))
		n.lengths[at>>6] |= 1 << (at & 63)
		if len(n.list) < few {
			n.list = append(n.list, nameSet{name, set})
		}
	}
	return set
}

func lengthOf(n int) uint { return uint(min(n, 319)) } //nolint:gosec // not negative

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

func newTexts(words int) *texts {
	return &texts{any: newBits(words), exact: named{sets: map[string]bitset{}}, suffix: named{sets: map[string]bitset{}}}
}

func (t *texts) add(wants []condition.Want, cond int) {
	for i := range wants {
		table := &t.exact
		if wants[i].Kind == condition.WantHost {
			table = &t.suffix
		}
		table.get(wants[i].Text, len(t.any)).add(cond)
	}
}

// finish adds to each set what holds for a wider pattern.
func (t *texts) finish() {
	for name, set := range t.suffix.sets {
		t.widen(name[1:], set)
	}
	for name, set := range t.exact.sets {
		t.widen(name, set)
	}
}

func (t *texts) widen(name string, set bitset) {
	set.or(t.any)
	for i := range len(name) {
		if wider, ok := t.suffix.sets[name[i:]]; ok && name[i] == '.' {
			set.or(wider)
		}
	}
}

func (t *texts) find(text []byte) bitset {
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
	return t.any
}

// paths answers which conditions hold for a path: a tree over the bytes of paths and beginnings of
// paths.
type paths struct {
	nodes []pathNode
	words int
}

type pathNode struct {
	label  string
	here   bitset // of beginnings that end here or above
	exact  bitset // here, and of paths that end here; nil: here
	firsts string // of the labels of kids
	kids   []int32
}

func newPaths(words int) *paths { return &paths{[]pathNode{{here: newBits(words)}}, words} }

// add adds the pattern w for condition cond.
func (p *paths) add(w *condition.Want, cond int) {
	switch w.Kind {
	case condition.WantText:
		p.exact(w.Text, cond)
	case condition.WantPrefix:
		p.beginning(w.Text, cond)
	default:
		literal, whole := w.Path.Literal()
		p.beginning(literal+"/", cond)
		if whole {
			p.exact(literal, cond)
		}
	}
}

func (p *paths) beginning(text string, cond int) { p.nodes[p.insert(text)].here.add(cond) }

func (p *paths) exact(text string, cond int) {
	n := &p.nodes[p.insert(text)]
	if n.exact == nil {
		n.exact = newBits(p.words)
	}
	n.exact.add(cond)
}

// insert returns the node of text.
func (p *paths) insert(text string) int32 {
	at := int32(0)
	for text != "" {
		k := strings.IndexByte(p.nodes[at].firsts, text[0])
		if k < 0 {
			return p.grow(at, text)
		}
		kid := p.nodes[at].kids[k]
		common := commonPrefix(text, p.nodes[kid].label)
		if common < len(p.nodes[kid].label) {
			p.split(kid, common)
		}
		text, at = text[common:], kid
	}
	return at
}

func (p *paths) grow(at int32, label string) int32 {
	kid := int32(len(p.nodes)) //nolint:gosec // bounded by the configuration
	p.nodes = append(p.nodes, pathNode{label: label, here: newBits(p.words)})
	n := &p.nodes[at]
	n.firsts, n.kids = n.firsts+label[:1], append(n.kids, kid)
	return kid
}

// split puts a node in the middle of the label of node at, which keeps its number for the upper part.
func (p *paths) split(at int32, length int) {
	lower := p.nodes[at]
	lower.label = lower.label[length:]
	kid := int32(len(p.nodes)) //nolint:gosec // bounded by the configuration
	p.nodes[at] = pathNode{label: p.nodes[at].label[:length], here: newBits(p.words), firsts: lower.label[:1], kids: []int32{kid}}
	p.nodes = append(p.nodes, lower)
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// finish hands down what holds above.
func (p *paths) finish(anyPath bitset) {
	p.nodes[0].here.or(anyPath)
	p.pushDown(0)
}

func (p *paths) pushDown(at int32) {
	n := &p.nodes[at]
	if n.exact != nil {
		n.exact.or(n.here)
	}
	for _, kid := range n.kids {
		p.nodes[kid].here.or(n.here)
		p.pushDown(kid)
	}
}

// kidOf returns the place of the kid whose label begins with c, or -1.
func (n *pathNode) kidOf(c byte) int {
	if len(n.firsts) > few {
		return strings.IndexByte(n.firsts, c)
	}
	for i := range len(n.firsts) {
		if n.firsts[i] == c {
			return i
		}
	}
	return -1
}

func (p *paths) find(path []byte) bitset {
	n := &p.nodes[0]
	for len(path) > 0 {
		k := n.kidOf(path[0])
		if k < 0 {
			return n.here
		}
		kid := &p.nodes[n.kids[k]]
		if len(path) < len(kid.label) || string(path[:len(kid.label)]) != kid.label {
			return n.here
		}
		path, n = path[len(kid.label):], kid
	}
	if n.exact != nil {
		return n.exact
	}
	return n.here
}

// networks answers which conditions hold for a client's address.
type networks struct {
	zones *sets.Zones
	sets  []bitset // by what belongs to a zone
}

// maxNetworkSets bounds the different sets of conditions that hold in some network.
const maxNetworkSets = 4096

// group is the networks that a condition wants the client in, and all conditions that do.
type group struct {
	nets  []netip.Prefix
	conds bitset
}

// newNetworks makes the table of groups; any are the conditions that look at no address. It reports
// false where more than maxNetworkSets different sets of conditions would come of it.
func newNetworks(groups []*group, anyClient bitset) (*networks, bool) {
	n := &networks{sets: []bitset{anyClient}}
	var members []sets.Member
	for i, g := range groups {
		for _, net := range g.nets {
			members = append(members, sets.Member{Net: net, Group: i})
		}
	}
	numbers, full := map[string]uint16{}, false
	spelt := make([]byte, len(groups))
	n.zones = sets.NewZones(members, len(groups), func(active []int) uint16 {
		holds := false
		for i, count := range active {
			spelt[i] = 0
			if count > 0 {
				spelt[i], holds = 1, true
			}
		}
		if !holds || full {
			return 0
		}
		number, ok := numbers[string(spelt)]
		if !ok {
			full = len(n.sets) == maxNetworkSets
			number = n.add(groups, active)
			numbers[string(spelt)] = number
		}
		return number
	})
	return n, !full
}

// add adds the set of what holds where the active groups do, and returns its number.
func (n *networks) add(groups []*group, active []int) uint16 {
	set := slices.Clone(n.sets[0])
	for i, count := range active {
		if count > 0 {
			set.or(groups[i].conds)
		}
	}
	n.sets = append(n.sets, set)
	return uint16(len(n.sets) - 1) //nolint:gosec // at most maxNetworkSets
}
