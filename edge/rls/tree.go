package rls

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/headgate-dev/headgate/mitigation"
)

// MaxRows is the most rules of a tree with figures of their own in /metrics.
const MaxRows = 1_000

// Tree is what all files together say.
type Tree struct {
	Domains map[string]*Node
	// of the limits that count, in the order of the files, at most mitigation.MaxTree
	Rules []mitigation.Rule
	// of the rules beyond MaxRows: the row in /metrics they have in common
	Rows map[string]string
	// names of domains that a management server sent; the others are of files
	Streamed map[string]bool
}

// Domain returns the root of the domain called name; nil: no file has it. A nil Tree has none.
func (t *Tree) Domain(name []byte) *Node {
	if t == nil {
		return nil
	}
	return t.Domains[string(name)]
}

// Row returns the row in /metrics of the rule called name, together with others; "": it has its
// own.
func (t *Tree) Row(name string) string {
	if t == nil {
		return ""
	}
	return t.Rows[name]
}

// Node is a level of a domain.
type Node struct {
	Children  map[string]*Node // by key_value, or key where there is no value
	Wildcards []Wildcard       // of Children, in the order of the file
	Limit     *Limit           // nil: none
	// key_value, with stars, of a node whose values count together; nil: each counts by itself
	Shared []byte
}

// Wildcard is a child for all texts of the same pattern.
type Wildcard struct {
	first []byte   // of the pattern, before its first star
	parts [][]byte // behind each of its stars
	node  *Node
}

// Limits returns how many descriptors below n have a limit.
func (n *Node) Limits() (total int) {
	if n.Limit != nil {
		total = 1
	}
	for _, child := range n.Children {
		total += child.Limits()
	}
	return total
}

// Limit is the limit of a descriptor.
type Limit struct {
	Rule      []byte // of the gate; nil: it is unlimited, or nothing passes
	Name      string // by which others replace it; "": none
	PerUnit   uint32 // requests
	Unit      uint64 // as RateLimitResponse.RateLimit.Unit numbers them: second 1 … day 4
	Unlimited bool
	Shadow    bool     // it denies nothing
	Quota     bool     // it denies only if all quotas of a request are over
	Replaces  []string // names of limits that do not hold beside it
	// for the answer: nil, bool, float64, string, []any and map[string]any; nil: none
	Metadata map[string]any
}

// Banned reports whether nothing passes.
func (l *Limit) Banned() bool { return l.Rule == nil && !l.Unlimited }

// Add adds a child called key, and returns it; false: there is an already.
func (n *Node) Add(key string) (*Node, bool) {
	if _, twice := n.Children[key]; twice {
		return nil, false
	}
	child := new(Node)
	if n.Children == nil {
		n.Children = map[string]*Node{}
	}
	n.Children[key] = child
	if parts := bytes.Split([]byte(key), []byte("*")); len(parts) > 1 {
		n.Wildcards = append(n.Wildcards, Wildcard{parts[0], parts[1:], child})
	}
	return child, true
}

// ends reports whether text, which is behind the first part, is as the other parts say. Each star
// stands for any bytes or none. The last part ends text, and those before it are looked for from
// the left.
func (w *Wildcard) ends(text []byte) bool {
	last := len(w.parts) - 1
	for _, part := range w.parts[:last] {
		at := bytes.Index(text, part)
		if at < 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return bytes.HasSuffix(text, w.parts[last])
}

// Walk follows the entries of a descriptor. It is used again and again, by a single goroutine.
type Walk struct {
	Limit *Limit // after the last Step: what the descriptor means; nil: no limit

	at   *Node // nil: the tree has nothing more
	text []byte
}

// Begin begins at the root of a domain.
func (w *Walk) Begin(domain *Node) { w.at, w.Limit = domain, nil }

// Step takes the next entry; last says that there are no more. It returns the value by which the
// entry counts: its own, or what stands for all that a wildcard matches.
func (w *Walk) Step(key, value []byte, last bool) []byte {
	if w.at == nil {
		return value
	}
	w.text = append(append(append(w.text[:0], key...), '_'), value...)
	next := w.at.Children[string(w.text)]
	if next == nil {
		if next = w.at.wildcard(w.text); next != nil && next.Shared != nil {
			value = next.pattern(key)
		}
	}
	if next == nil {
		next = w.at.Children[string(key)]
	}
	if next == nil {
		w.at = nil
		return value
	}
	if last {
		w.Limit = next.Limit
	}
	if w.at = next; len(next.Children) == 0 {
		w.at = nil
	}
	return value
}

// pattern returns what stands for the values of key that n's wildcard matches.
func (n *Node) pattern(key []byte) []byte {
	if at := len(key); len(n.Shared) > at && string(n.Shared[:at]) == string(key) &&
		n.Shared[at] == '_' {
		return n.Shared[at+1:]
	}
	return n.Shared // the wildcard is of a shorter key
}

// wildcard returns the first child whose wildcard matches text.
func (n *Node) wildcard(text []byte) *Node {
	for i := range n.Wildcards {
		w := &n.Wildcards[i]
		if p := len(w.first); len(text) >= p &&
			string(text[:p]) == string(w.first) && w.ends(text[p:]) {
			return w.node
		}
	}
	return nil
}

// RuleName returns text as a rule may be called: of [A-Za-z0-9_.-] and the bytes in also, at most
// mitigation.MaxRuleName of them. Where something of text is lost, a digest at the end tells it
// from others. It is the same on all nodes.
func RuleName(text, also string) string {
	clean := []byte(text)
	lossy := len(text) > mitigation.MaxRuleName
	for i, c := range clean {
		letter, digit := c|0x20 >= 'a' && c|0x20 <= 'z', c >= '0' && c <= '9'
		if !letter && !digit && strings.IndexByte("_.-"+also, c) < 0 {
			clean[i], lossy = '_', true
		}
	}
	if !lossy {
		return text
	}
	const digits = 8
	sum := sha256.Sum256([]byte(text))
	return string(clean[:min(len(clean), mitigation.MaxRuleName-digits-1)]) + "-" +
		hex.EncodeToString(sum[:digits/2])
}
