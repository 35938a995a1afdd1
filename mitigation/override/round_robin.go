package override

import (
	"slices"
	"sync"
)

// RoundRobin sends a list longer than a message: each message continues at the end of the last.
// Methods may be called concurrently. The zero RoundRobin starts with the first override.
type RoundRobin struct {
	mu   sync.Mutex
	next Override // its Rule and Key are the start of the next message
}

// Append calls add with the encoding of each override in all, sorted as Set.All returns them, until
// add returns false. The refused override is the first of the next call. add must not keep the
// record. Append returns the number of overrides that were not added.
func (r *RoundRobin) Append(all []Override, add func(record []byte) bool) (left int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first, _ := slices.BinarySearchFunc(all, r.next,
		func(a, b Override) int { return compareSubjects(&a, &b) })
	var record []byte
	for n := range all {
		o := &all[(first+n)%len(all)]
		record = Append(record[:0], o)
		if !add(record) {
			r.next = Override{Rule: o.Rule, Key: o.Key}
			return len(all) - n
		}
	}
	return 0
}
