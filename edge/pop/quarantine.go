package pop

import (
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/edge/ring"
	"github.com/headgate-dev/headgate/window"
)

// A server answering implausibleMost implausible totals within implausibleWithin is in quarantine
// for quarantineFor: its memory may be shared with another user.
const (
	implausibleMost   = 3
	implausibleWithin = time.Second
	quarantineFor     = 10 * time.Second
)

// quarantined is shown as the last error of a server in quarantine.
const quarantined = "its totals cannot be true: ignored for a while"

// quarantine is the trust in a server. It belongs to the flusher's goroutine, except for its atomic
// field.
type quarantine struct {
	count int            // implausible totals since first
	first window.Instant // of the implausible totals counted
	until atomic.Int64   // Instant at which the quarantine ends
}

// at reports whether the server is in quarantine at now.
func (q *quarantine) at(now window.Instant) bool { return int64(now) < q.until.Load() }

// implausible notes a total that cannot be true.
func (q *quarantine) implausible(now window.Instant) {
	if now.Sub(q.first) > implausibleWithin {
		q.count, q.first = 0, now
	}
	if q.count++; q.count >= implausibleMost {
		q.until.Store(int64(now.Add(quarantineFor)))
	}
}

// checkTotals puts servers into quarantine whose totals cannot be true.
func (p *Flusher) checkTotals(f window.Flush, ops []ring.Op) {
	for n := range p.dues {
		if op := &ops[n]; op.Err == nil && !p.gate.Plausible(f, &p.dues[n], op.Total) {
			p.implausible.Add(1)
			p.quarantines[op.Server].implausible(f.Now)
		}
	}
}
