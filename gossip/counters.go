package gossip

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/gossip/guard"
)

// counters are all counters of this package. Safe for concurrent use.
type counters struct {
	// Traffic counts the network's traffic, and all drops.
	guard.Traffic
	// packets, messages and states count its payload: of Send, Spread and State.
	packets, messages, states guard.Meter
	// recordsIn, recordsOut and news count records; news are those that ReceiveRecord called so.
	recordsIn, recordsOut, news atomic.Uint64
	// joins, rejoins and joinErrors count attempts to join.
	joins, rejoins, joinErrors atomic.Uint64
	// conflicts and metaErrors count members with a taken name, or with unreadable metadata.
	conflicts, metaErrors atomic.Uint64

	mu        sync.Mutex // protects what follows
	joinError string
	joinedAt  time.Time
	lag       Lag
}

// drop counts a drop.
func (c *counters) drop(why guard.Reason) { c.Dropped.Add(why) }

// failedJoin records a failed join and its error.
func (c *counters) failedJoin(err error) {
	c.joinErrors.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.joinError = err.Error()
}

// joined records a successful join.
func (c *counters) joined(now time.Time) {
	c.joins.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.joinError, c.joinedAt = "", now
}

// recordNews records the age of news at its arrival.
func (c *counters) recordNews(age time.Duration) {
	c.news.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lag.add(age)
}
