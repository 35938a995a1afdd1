package edge

import (
	"context"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
)

// watchNamesEvery is the period in which the log names a rule that was asked for and is not in force.
// It bounds the log to a line a minute, however many names are asked for.
const watchNamesEvery = time.Minute

// watchNames logs the rules that are asked for and not in force, until ctx ends: a proxy that fails
// open lets such requests pass.
func (n *Node) watchNames(ctx context.Context) {
	tick := time.NewTicker(watchNamesEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if name, count := n.gate.Misnamed(); count > 0 {
				n.log.Warn("requests name a rule that does not exist: a proxy that fails open lets them pass",
					"rule", api.EscapeKey([]byte(name)), "requests", count)
			}
		}
	}
}
