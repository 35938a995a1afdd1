package rivals

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
)

// decisionsPerClock is how many decisions go by one reading of the clock, as in the batches of the
// doors.
const decisionsPerClock = 64

// headgate is the whole decision, as a door makes it: the node of the default memory, its
// background work running, a lane for each goroutine.
func headgate() Subject { return Subject{"headgate", newHeadgate, false} }

func newHeadgate(ctx context.Context) (Maker, error) {
	node := gate.New(gate.Options{
		Memory: config.Default().Memory,
		Rules:  []mitigation.Rule{{Name: "per-ip", Limit: limit, Window: period}},
		Start:  time.Now(),
	})
	go node.Run(ctx)
	var lanes atomic.Int64
	return func() Take { return lane(node, int(lanes.Add(1))) }, nil
}

// lane returns the decisions of one goroutine.
func lane(node *gate.Gate, n int) Take {
	var (
		l     = node.Lane(n)
		batch gate.Batch
		left  int
		d     gate.Decision
		q     = gate.Ask{Op: gate.Check, Cost: 1, Rule: []byte("per-ip")}
	)
	return func(key string) bool {
		if left--; left < 0 {
			batch.End()
			batch, left = l.Batch(node.Now(), rand.Uint64), decisionsPerClock-1
		}
		q.Key = unsafe.Slice(unsafe.StringData(key), len(key))
		return batch.Decide(&d, &q) == nil && !d.Deny
	}
}
