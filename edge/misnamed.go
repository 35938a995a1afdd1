package edge

import (
	"context"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate"
)

// watchNamesEvery is the period in which the log names a rule asked for and is not in force. Bounds
// the log to a line a minute, for any number of names.
const watchNamesEvery = time.Minute

// watchNames logs the rules asked for and not in force, and each second the unread lines,
// until ctx ends: a proxy failing open lets such requests pass.
func (n *Node) watchNames(ctx context.Context) {
	silent, named := map[string]bool{}, time.Time{}
	gate.Every(ctx, time.Second, func(now time.Time) {
		n.watchUnread(now)
		if named.IsZero() {
			named = now
		}
		if now.Sub(named) < watchNamesEvery {
			return
		}
		named = now
		if name, count := n.gate.Misnamed(); count > 0 {
			n.log.Warn("requests name a rule that does not exist: a proxy that fails open "+
				"lets them pass",
				"rule", api.EscapeKey([]byte(name)), "requests", count)
		}
		silent = n.tellSilent(silent)
	})
}

// tellSilent logs the policies whose questions are never reported, once each, and returns them.
// told are the policies of before.
func (n *Node) tellSilent(told map[string]bool) map[string]bool {
	now := map[string]bool{}
	for _, f := range n.room.Figures() {
		if !f.Unreported {
			continue
		}
		if now[f.Name] = true; !told[f.Name] {
			n.log.Warn("its questions are never reported: the proxy sends no response, and "+
				"nothing of the policy is counted", "policy", f.Name)
		}
	}
	return now
}
