package gossip

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/headgate-dev/headgate/gossip/guard"
)

// delegate holds memberlist's callbacks. memberlist calls them under its locks and on its packet
// loops, so none of them waits, calls memberlist, or keeps a slice.
type delegate struct{ n *Node }

var (
	_ memberlist.Delegate         = delegate{}
	_ memberlist.EventDelegate    = delegate{}
	_ memberlist.AliveDelegate    = delegate{}
	_ memberlist.ConflictDelegate = delegate{}
	_ memberlist.PingDelegate     = delegate{}
)

// NodeMeta implements memberlist.Delegate.
func (d delegate) NodeMeta(limit int) []byte {
	b := d.n.meta().Append(nil)
	if len(b) > limit {
		return nil // unreachable: check bounds the texts
	}
	return b
}

// NotifyMsg implements memberlist.Delegate.
func (d delegate) NotifyMsg(b []byte) { d.n.inbox.offer(b) }

// AckPayload implements memberlist.PingDelegate: the wall clock, Unix microseconds.
func (d delegate) AckPayload() []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(d.n.cfg.Wall().UnixMicro()))
}

// NotifyPingComplete implements memberlist.PingDelegate, on the goroutine of the pings, which may
// wait.
func (d delegate) NotifyPingComplete(m *memberlist.Node, round time.Duration, payload []byte) {
	if len(payload) != 8 || d.n.cfg.Pinged == nil {
		return // of an earlier version
	}
	micros := int64(binary.BigEndian.Uint64(payload)) - d.n.cfg.Wall().UnixMicro()
	d.n.cfg.Pinged(m.Name, time.Duration(micros)*time.Microsecond, round)
}

// GetBroadcasts implements memberlist.Delegate. It returns a message with as many records as fit: a
// receiving memberlist has 1,024 places for messages, including its own, and drops the rest.
func (d delegate) GetBroadcasts(overhead, limit int) [][]byte {
	if limit-overhead <= headBytes {
		return nil
	}
	b, records := d.n.queue.pack(limit-overhead, d.n.clock.At(time.Now()))
	if records == 0 {
		return nil
	}
	d.n.c.messages.Went(len(b))
	d.n.c.recordsOut.Add(uint64(records))
	return [][]byte{b}
}

// LocalState implements memberlist.Delegate.
func (d delegate) LocalState(join bool) []byte {
	state := d.n.cfg.State(join)
	if len(state) > MaxState {
		d.n.c.drop(guard.Oversize)
		return nil
	}
	if len(state) == 0 {
		return nil
	}
	d.n.c.states.Went(len(state))
	return append(appendHead(make([]byte, 0, headBytes+len(state)), kindState),
		state...)
}

// MergeRemoteState implements memberlist.Delegate.
func (d delegate) MergeRemoteState(b []byte, _ bool) { d.n.inbox.offerState(b) }

// NotifyJoin implements memberlist.EventDelegate.
func (d delegate) NotifyJoin(m *memberlist.Node) { d.put(m, Alive) }

// NotifyUpdate implements memberlist.EventDelegate.
func (d delegate) NotifyUpdate(m *memberlist.Node) { d.put(m, Alive) }

// NotifyLeave implements memberlist.EventDelegate: for a member that left, or died.
func (d delegate) NotifyLeave(m *memberlist.Node) { d.put(m, Dead) }

// put updates the roster, and counts metadata that does not parse.
func (d delegate) put(m *memberlist.Node, state State) {
	if err := d.n.roster.put(m, state, time.Now()); err != nil {
		d.n.c.metaErrors.Add(1)
	}
}

var errFull = errors.New("too many members")

// NotifyAlive implements memberlist.AliveDelegate. It refuses invalid names, and members beyond the
// bound.
func (d delegate) NotifyAlive(m *memberlist.Node) error {
	known, room := d.n.roster.knows(m.Name)
	if known {
		return nil
	}
	err := checkName(m.Name)
	if err == nil && !room {
		err = errFull
	}
	if err != nil {
		d.n.c.drop(guard.Member)
		return fmt.Errorf("member rejected: %w", err)
	}
	return nil
}

// NotifyConflict implements memberlist.ConflictDelegate: a name is claimed from two addresses.
// memberlist keeps the first, until it is dead.
func (d delegate) NotifyConflict(existing, other *memberlist.Node) {
	select {
	case d.n.claims <- [2]memberlist.Node{*existing, *other}:
	default: // one is being looked into
	}
}

// judgeClaims looks into names claimed from two addresses, until ctx ends: two nodes where both
// addresses answer, else a node that has moved. own is this node's address.
func (n *Node) judgeClaims(ctx context.Context, ml *memberlist.Memberlist, own string) {
	moved := ""
	answers := func(m *memberlist.Node) bool {
		_, err := ml.Ping(m.Name, &net.UDPAddr{IP: m.Addr, Port: int(m.Port)})
		return err == nil
	}
	for {
		select {
		case <-ctx.Done():
			return
		case both := <-n.claims:
			first, second := both[0].Address(), both[1].Address()
			switch {
			case (first == own || answers(&both[0])) && answers(&both[1]):
				n.c.conflicts.Add(1)
				n.log.Error("gossip: two nodes have the same name: the second one is not a member",
					"name", both[0].Name, "first", first, "second", second)
			case first == own: // nobody is left at the other
			case moved != second:
				moved = second
				n.log.Info("gossip: a node has moved", "name", both[0].Name, "from", first, "to",
					second)
			}
		}
	}
}
