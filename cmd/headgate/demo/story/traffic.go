package story

import "time"

// Batch is the requests received by a PoP in a single step.
type Batch struct {
	At     time.Duration // since the story began
	Attack int           // requests of the attacker
	Normal [][]byte      // the key of each request of a normal client
}

// Empty reports whether the batch holds no request.
func (b *Batch) Empty() bool { return b.Attack+len(b.Normal) == 0 }

// Traffic is the requests of the attacker and of the normal clients, step by step. Not safe for
// concurrent use.
type Traffic struct {
	Story    Story
	Attacker string // its key, an address
	Clients  int    // number of normal clients

	crowd *crowd
	due   Rates // the part of the next request that is due, 0 to 1
	step  int   // the next
}

// NewTraffic returns the traffic of a story. Who sends when, and to which PoP, follows from the
// seed alone.
func NewTraffic(s Story, seed uint64) *Traffic {
	crowd, attacker := newCrowd(seed)
	return &Traffic{Story: s, Attacker: attacker, Clients: len(crowd.clients), crowd: crowd}
}

// Steps returns the number of steps returned by Next: Step each since the story began.
func (t *Traffic) Steps() int { return t.step }

// Next returns the batches of the next step.
func (t *Traffic) Next() (all [len(PoPs)]Batch) {
	at := time.Duration(t.step) * Step
	rates := t.Story.Rates(at)
	var normal [len(PoPs)][][]byte
	t.crowd.until(at, &normal)
	for pop := range all {
		t.due[pop] += rates[pop] * Limit * Step.Seconds()
		whole := int(t.due[pop])
		t.due[pop] -= float64(whole)
		all[pop] = Batch{At: at, Attack: whole, Normal: normal[pop]}
	}
	t.step++
	return all
}
