package udp

import (
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/door/lines"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/wire"
)

// setAnswer sets *a to d as the reply to the line q. Durations are rounded up to whole seconds. A
// count is acknowledged with "ok" and no numbers.
func setAnswer(a *wire.Answer, d *gate.Decision, q *wire.Query) {
	*a = wire.Answer{}
	a.ID = q.ID
	if q.Op == wire.Count {
		a.Status = wire.OK
		return
	}
	a.Shadow, a.View, a.Remaining, a.Reset = d.Shadow, lines.Views[d.View], d.Remaining,
		api.WholeSeconds(d.Reset)
	a.Scale = d.Rule.Scale
	if d.Delay > 0 {
		a.Delay = api.WholeMillis(d.Delay)
	}
	if d.Deny {
		a.Status, a.Why, a.Ratio, a.Retry, a.Blast = wire.Deny, lines.Whys[d.Why],
			float32(d.Ratio.Float()), api.WholeSeconds(d.Retry), uint32(d.Blast)
	}
}
