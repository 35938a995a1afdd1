// Package lines translates the values of the gate into those of the line protocol. Two doors answer
// in them: that of datagrams, and the door without a socket, whose callers read a client's answers.
// The gate does not know the protocol, and the protocol does not know the gate, so neither has to
// change with the other.
//
//	wire.Query ──Ops──► gate.Ask
//	gate.Decision ──Whys, Views──► wire.Answer, client.Answer
package lines

import (
	"errors"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
)

// The tables are indexed by the value to translate, and read only.
var (
	// Ops are the gate's operations. A ping has none: the gate is not asked.
	Ops = [...]gate.Op{wire.Check: gate.Check, wire.Peek: gate.Peek, wire.Count: gate.Count}
	// Whys are the reasons of denials; of an answer that allows there is none.
	Whys = [...]wire.Why{
		mitigation.Unrefused: wire.NoWhy, mitigation.ByBlock: wire.WhyBlock,
		mitigation.ByShed: wire.WhyShed, mitigation.ByLimit: wire.WhyLimit,
		mitigation.ByReserve: wire.WhyReserve, mitigation.ByPending: wire.WhyPending,
		mitigation.ByCost: wire.WhyCost,
	}
	// Views are on whose counts a decision rests.
	Views = [...]wire.View{
		mitigation.Node: wire.ViewNode, mitigation.PoP: wire.ViewPoP,
		mitigation.Global: wire.ViewGlobal,
	}
)

// CodeOf returns the code of an error of the gate or of ask's room; nil has wire.NoError. An error
// without a code of its own is of a request for another kind of rule.
func CodeOf(err error) wire.Code {
	switch {
	case err == nil:
		return wire.NoError
	case errors.Is(err, gate.ErrUnknownRule):
		return wire.UnknownRule
	case errors.Is(err, ask.ErrUnknownPool):
		return wire.UnknownPool
	case errors.Is(err, ask.ErrFull):
		return wire.Full
	}
	return wire.BadRequest
}
