package peers

import (
	"time"

	"github.com/headgate-dev/headgate/window"
)

const (
	// speaksFor how long a PoP is taken to take part since its last batch.
	speaksFor = 2 * time.Minute
)

// PoP is a PoP with the members a batch may go to. Immutable.
type PoP struct {
	Name string
	// Own says that it is this node's, which is not among Nodes.
	Own   bool
	Nodes []string
}

// Partners is the knowledge of a node of all PoPs. Its zero value knows none. It is not safe for
// concurrent use.
type Partners struct {
	all    []PoP
	speaks map[string]window.Instant // by PoP: its last batch
	hello  window.Instant            // the last
	turn   int
}

// Assign replaces the PoPs by all. The entries of those that stay are kept.
func (t *Partners) Assign(all []PoP) {
	t.all = all
	had := t.speaks
	t.speaks = make(map[string]window.Instant, len(all))
	for n := range all {
		t.speaks[all[n].Name] = had[all[n].Name]
	}
}

// All returns all PoPs. The caller changes nothing.
func (t *Partners) All() []PoP { return t.all }

// Own returns the other nodes of this node's PoP.
func (t *Partners) Own() []string {
	for n := range t.all {
		if t.all[n].Own {
			return t.all[n].Nodes
		}
	}
	return nil
}

// Heard notes that pop, of All, sent a batch.
func (t *Partners) Heard(now window.Instant, pop string) { t.speaks[pop] = now }

// AllSpeak reports whether all other PoPs take part, and there are some.
func (t *Partners) AllSpeak(now window.Instant) bool {
	others := 0
	for n := range t.all {
		if p := &t.all[n]; !p.Own {
			if others++; t.speaks[p.Name] == 0 || now.Sub(t.speaks[p.Name]) > speaksFor {
				return false
			}
		}
	}
	return others > 0
}

// Greets reports, at most once in 30 s, whether the other PoPs are to be told that this node takes
// part.
func (t *Partners) Greets(now window.Instant) bool {
	// how often a node that has counts to receive says that it takes part,
	if t.hello != 0 && now.Sub(t.hello) < (30*time.Second) {
		return false
	}
	t.hello = now
	return true
}

// Next returns the node of the n-th PoP of All, which has some, that is to receive the next batch.
func (t *Partners) Next(n int) string {
	nodes := t.all[n].Nodes
	return nodes[(t.turn+n)%len(nodes)]
}

// Turn moves the turn on to other nodes.
func (t *Partners) Turn() { t.turn++ }
