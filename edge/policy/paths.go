package policy

import (
	"strings"

	"github.com/headgate-dev/headgate/edge/policy/condition"
)

// paths answers which conditions hold for a path: a tree over the bytes of paths and beginnings of
// paths.
// /v1/users and /v1/** share the nodes of "/v1/": a lookup reads the path once, whatever the number
// of patterns.
type paths struct {
	nodes []pathNode
	words int
}

type pathNode struct {
	label string
	// Finish has handed down the conditions of wider entries, so a search ends with a set and joins
	// nothing.
	here  bitset // of beginnings that end here or above
	exact bitset // here, and of paths that end here; nil: here
	// A string beside the kids, since comparing bytes of a string is faster than looking into each
	// kid.
	firsts string // of the labels of kids
	kids   []int32
}

// Add adds the pattern w for condition cond. /v2/** is /v2 itself and all that begins with /v2/; a
// pattern with a star in the middle is entered by the text before the star, and tested besides.
func (p *paths) Add(w *condition.Want, cond int) {
	switch w.Kind {
	case condition.WantText:
		for _, text := range w.Texts() {
			p.exact(text, cond)
		}
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

func (p *paths) beginning(text string, cond int) { p.nodes[p.insert(text)].here.Add(cond) }

func (p *paths) exact(text string, cond int) {
	n := &p.nodes[p.insert(text)]
	if n.exact == nil {
		n.exact = newBitset(p.words)
	}
	n.exact.Add(cond)
}

// insert returns the node of text. A label is split where two texts part, so no two kids begin with
// the same byte.
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
	kid := int32(len(p.nodes)) // bounded by the configuration
	p.nodes = append(p.nodes, pathNode{label: label, here: newBitset(p.words)})
	n := &p.nodes[at]
	n.firsts, n.kids = n.firsts+label[:1], append(n.kids, kid)
	return kid
}

// split puts a node in the middle of the label of node at, which keeps its number for the upper
// part. Whoever had the number of the node had it for the upper part, and keeps it.
func (p *paths) split(at int32, length int) {
	lower := p.nodes[at]
	lower.label = lower.label[length:]
	kid := int32(len(p.nodes)) // bounded by the configuration
	p.nodes[at] = pathNode{
		label: p.nodes[at].label[:length], here: newBitset(p.words),
		firsts: lower.label[:1], kids: []int32{kid},
	}
	p.nodes = append(p.nodes, lower)
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// Finish hands down the conditions of wider entries. anyPath are the conditions that look at no
// path.
func (p *paths) Finish(anyPath bitset) {
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
// Few kids are compared here, without a call; IndexByte is faster from some eight on.
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

// Find returns the conditions holding for path. Where no kid goes on, the beginnings up to here are
// all that hold.
func (p *paths) Find(path []byte) bitset {
	n := &p.nodes[0]
	for len(path) > 0 {
		k := n.kidOf(path[0])
		if k < 0 {
			return n.here
		}
		kid := &p.nodes[n.kids[k]]
		label := kid.label
		// its first byte is the kid's
		if len(label) > 1 && (len(path) < len(label) || string(path[:len(label)]) != label) {
			return n.here
		}
		path, n = path[len(label):], kid
	}
	if n.exact != nil {
		return n.exact
	}
	return n.here
}
