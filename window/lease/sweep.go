package lease

import (
	"github.com/headgate-dev/headgate/window"
)

// expire drops the leases ended by now.
func (t *Table) expire(now window.Instant) {
	for t.ends.Len() > 0 {
		at := t.ends.At(0)
		if t.records[at].until > now {
			return
		}
		t.lose(at)
	}
}

// lose ends the lease at place at by time.
func (t *Table) lose(at uint16) {
	t.rules[t.holders[t.records[at].holder].rule].lost++
	t.ends.Leave(at)
	t.drop(at)
	t.stats.Expired++
}

// Sweep drops the leases ended by now, a part at a time, so nobody waits long for the lock.
func (t *Table) Sweep(now window.Instant) {
	for t.sweep(now) {
	}
}

func (t *Table) sweep(now window.Instant) (more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	// how many leases Sweep drops under the lock. A thousand dead proxies leave tens of thousands
	// of leases with the same end.
	for range 256 {
		if t.ends.Len() == 0 || t.records[t.ends.At(0)].until > now {
			return false
		}
		at := t.ends.At(0)
		t.lose(at)
	}
	return true
}
