package peers

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
	all  []PoP
	turn int
}

// Assign replaces the PoPs by all.
func (t *Partners) Assign(all []PoP) { t.all = all }

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

// every returns in how many turns another PoP is sent a batch: all PoPs send to all others, so with
// more than 20 PoPs less often.
func (t *Partners) every() int { return max(1, min((len(t.all)+19)/20, 5)) }

// Due reports whether the n-th PoP of All is to be sent its batch in this turn.
func (t *Partners) Due(n int) bool { return t.all[n].Own || (t.turn+n)%t.every() == 0 }

// Next returns the node of the n-th PoP of All, which has some, that is to receive the next batch.
func (t *Partners) Next(n int) string {
	nodes := t.all[n].Nodes
	return nodes[(t.turn+n)/t.every()%len(nodes)]
}

// Turn moves the turn on to other nodes.
func (t *Partners) Turn() { t.turn++ }
