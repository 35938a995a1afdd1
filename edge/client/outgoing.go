package client

import (
	"math/rand/v2"

	"github.com/headgate-dev/headgate/edge/wire"
)

// outgoing is the datagram being written. Buffers are reused.
type outgoing struct {
	datagram
	rule, key []byte        // the line being written: the rule and the sent key
	index     [maxLines]int // by line: the index of its query in the call
}

func newOutgoing() outgoing {
	//nolint:gosec // ChaCha8, seeded by the system
	return outgoing{datagram: newDatagram(rand.Uint64())}
}

// fill packs the queries of k from index from on until there is no more room, and returns the index
// of the first left. A query against the protocol is not packed: a failure here. With pad, the
// daemon is left room for whole replies.
func (p *outgoing) fill(k *call, from int, pad bool) int {
	p.Reset(pad)
	for i := from; i < len(k.queries); i++ {
		q := p.encode(k.queries[i])
		if code := check(q); code != wire.NoError {
			k.answers[i].Err = code
			continue
		}
		if !p.Append(q) {
			return i
		}
		p.index[p.Lines()-1] = i
	}
	return len(k.queries)
}

// fillWhole packs the whole request of k.
func (p *outgoing) fillWhole(k *call) {
	p.Reset(false)
	p.AppendLine(k.whole) // it fits: see Request.line
	p.index[0] = 0
}

// encode returns q as sent. Rule and key lie in the packet's buffers.
func (p *outgoing) encode(q Query) wire.Query {
	p.rule = append(p.rule[:0], q.Rule...)
	p.key = append(p.key[:0], SentKey(q.Key)...)
	return wire.Query{
		Op: q.Op, Rule: p.rule, Key: p.key,
		Cost: min(q.Cost, wire.MaxCost), Millionths: min(q.Millionths, wire.MaxCost),
		Wait: q.CanWait,
	}
}

// check is [wire.Query.Validate], which lets Ping pass: a pong has no id to match by.
func check(q wire.Query) wire.Code {
	if q.Op == wire.Ping {
		return wire.BadRequest
	}
	return q.Validate()
}
