package udp

import (
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
)

var (
	// Translation tables between the wire protocol and the gate, indexed by the value to
	// translate.
	ops  = [...]gate.Op{wire.Check: gate.Check, wire.Peek: gate.Peek, wire.Count: gate.Count}
	whys = [...]wire.Why{
		mitigation.Unrefused: wire.NoWhy, mitigation.ByBlock: wire.WhyBlock,
		mitigation.ByShed: wire.WhyShed, mitigation.ByLimit: wire.WhyLimit,
	}
	views = [...]wire.View{mitigation.Node: wire.ViewNode, mitigation.PoP: wire.ViewPoP, mitigation.Global: wire.ViewGlobal}
)

// wireAnswer returns d as the reply to a line with operation op and client id, which may be empty.
// Durations are rounded up to whole seconds. A count is acknowledged with "ok" and no numbers.
func wireAnswer(d *gate.Decision, op wire.Op, id []byte) wire.Answer {
	if op == wire.Count {
		return wire.Answer{Status: wire.OK, ID: id}
	}
	a := wire.Answer{
		ID: id, Shadow: d.Shadow, View: views[d.View], Remaining: d.Remaining, Reset: api.WholeSeconds(d.Reset),
	}
	if d.Deny {
		a.Status, a.Why, a.Ratio, a.Retry = wire.Deny, whys[d.Why], float32(d.Ratio.Float()), api.WholeSeconds(d.Retry)
	}
	return a
}
