package udp

import (
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/door/lines"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
)

// decideAct answers a line about places or pools, and leaves the answer in k.
func (k *asker) decideAct(s *readerStats, b *gate.Batch, line []byte) {
	k.answer = wire.WholeAnswer{}
	code := wire.ParseAct(&k.act, line)
	k.answer.ID = k.act.ID
	if code == wire.NoError {
		code = k.perform(b)
	}
	if code == wire.NoError {
		return
	}
	k.answer.Status, k.answer.Code = wire.Error, code
	switch code {
	case wire.TooLong:
		s.tooLong.Add(1)
	case wire.UnknownRule, wire.UnknownPool:
		s.unknown.Add(1)
	default:
		s.malformed.Add(1)
	}
}

// perform does the act of the line.
func (k *asker) perform(b *gate.Batch) wire.Code {
	a, room := &k.act, k.session.Room()
	var err error
	k.answer.Status = wire.OK
	switch a.Op {
	case wire.ActAcquire:
		return k.acquire(b)
	case wire.ActRelease:
		k.answer.Late, err = room.Release(k.now, a.Rule, a.Key, a.Lease)
	case wire.ActRenew:
		k.answer.Late, err = room.Renew(k.now, a.Rule, a.Key, a.Lease)
	case wire.ActSettle:
		err = b.Settle(&gate.Ask{
			Rule: a.Rule, Key: a.Key, Cost: a.Cost, Millionths: a.Millionths,
		}, a.Less)
	default:
		err = room.Load(k.now, a.Rule, k.sender(), a.Share)
	}
	return lines.CodeOf(err)
}

// sender returns the name of whoever reports a load: the given name, or the address. All senders of
// a unix socket are a single source.
func (k *asker) sender() []byte {
	switch {
	case len(k.act.From) > 0:
		return k.act.From
	case !k.peer.IsValid():
		return append(k.name[:0], "unix"...)
	}
	return k.peer.AppendTo(k.name[:0])
}

// acquire takes places.
func (k *asker) acquire(b *gate.Batch) wire.Code {
	d := &k.decision
	err := b.Decide(d, &gate.Ask{
		Op: gate.Acquire, Rule: k.act.Rule, Key: k.act.Key,
		Cost: k.act.Cost, Millionths: k.act.Millionths, For: k.act.For, Tier: k.act.Tier,
	})
	if err != nil {
		return lines.CodeOf(err)
	}
	to := &k.answer
	to.Status, to.Shadow, to.Lease, to.Full = wire.Allow, d.Shadow, d.Lease, d.Full
	to.View, to.Remaining, to.Reset = lines.Views[d.View], d.Remaining, api.WholeSeconds(d.Reset)
	to.Scale = d.Rule.Scale
	if d.Deny {
		to.Status, to.Why, to.Retry = wire.Deny, lines.Whys[d.Why], api.WholeSeconds(d.Retry)
		to.HTTP = shedStatus(d.Why)
	}
	return wire.NoError
}

// shedStatus returns the status of a denial for why, 0 for the usual status.
func shedStatus(why mitigation.Why) int {
	if why == mitigation.ByReserve {
		// the status of a reserve kept for others, and of shedding.
		return 503
	}
	return 0
}
