package coordinator_test

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator"
	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/gossip/coordinator/peers"
	"github.com/headgate-dev/headgate/mitigation/control"
)

// owners returns owner and standby of the test's key.
func (f *fleet) owners() (owner, standby *node) {
	o, s := f.order[0].Assignment().Owners("r", "k")
	return f.nodes[o], f.nodes[s]
}

// forge packs records as sender would, and hands them to n.
func (f *fleet) forge(n *node, h packet.Header, records ...*packet.Record) {
	b := packet.AppendHeader(nil, h)
	for _, r := range records {
		b, _ = packet.AppendRecord(b, r, nil)
	}
	n.Receive(f.now, f.now.Time(), b)
}

// by returns a header of sender as it would be now.
func (f *fleet) by(sender string) packet.Header {
	return packet.Header{
		Sender: sender, Session: 1 << 50, Sequence: 1 << 40,
		Issued: int64(f.now) / int64(time.Millisecond),
	}
}

// An owner that lies convicts nobody: its standby does not agree.
func TestLyingOwnerConvictsNobody(t *testing.T) {
	f := newFleet(t, second, 2, 2, 2)
	good := asked(map[string]float64{"a": 3_000, "b": 2_000, "c": 1_000})
	owner, _ := f.owners()
	nonces := map[string]uint32{} // by reporter, as the owner receives them
	f.look = func(from, to string, r *packet.Record) {
		if r.Kind == packet.Report && to == owner.name {
			nonces[from] = r.Nonce
		}
	}
	f.run(3*time.Second, good)
	if len(nonces) < 2 {
		t.Fatalf("the owner was asked by %d reporters", len(nonces))
	}
	for name, nonce := range nonces {
		lie := control.GlobalView{Sum: 1e9, Limit: 1, Shed: true, EchoRate: 1, Blocked: time.Hour}
		before := f.nodes[name].Stats()
		f.forge(f.nodes[name], f.by(owner.name),
			&packet.Record{
				Kind: packet.View, ID: packet.ID{Rule: "r", Key: "k"}, Nonce: nonce,
				View: lie, From: owner.pop,
			})
		if after := f.nodes[name].Stats(); after.Rejected != before.Rejected ||
			after.RecordsIn[packet.View] != before.RecordsIn[packet.View]+1 {
			t.Errorf("%s rejects the lie unread: %v", name, after.Rejected)
		}
	}
	f.run(200*time.Millisecond, good)
	for _, n := range f.order {
		if n.advice.Ratio != 0 || n.advice.View.Blocked != 0 {
			t.Errorf("%s: ratio %v, blocked %v on one member's view", n.name,
				n.advice.Ratio.Float(), n.advice.View.Blocked)
		}
	}
}

// An unasked view is not believed: only those who were asked know the nonce.
func TestUnaskedViewsAreIgnored(t *testing.T) {
	f := newFleet(t, second, 2, 2, 2, 2, 2)
	good := asked(map[string]float64{"a": 3_000, "b": 2_000, "c": 500, "d": 500, "e": 500})
	f.run(3*time.Second, good)
	for _, n := range f.order {
		for _, k := range []packet.Kind{packet.View, packet.Advice} {
			r := &packet.Record{
				Kind: k, ID: packet.ID{Rule: "r", Key: "k"}, Nonce: 12345,
				From: "a", View: control.GlobalView{Sum: 1e9, Limit: 1, Shed: true},
			}
			for _, sender := range f.order {
				if sender != n {
					f.forge(n, f.by(sender.name), r)
				}
			}
		}
		if n.advice.Ratio != 0 {
			t.Errorf("%s: ratio %v", n.name, n.advice.Ratio.Float())
		}
		if n.Stats().Rejected[coordinator.RejectUnasked] == 0 {
			t.Errorf("%s: nothing rejected as unasked", n.name)
		}
	}
}

func TestPacketsThatAreRejected(t *testing.T) {
	f := newFleet(t, second, 2, 2)
	n := f.nodes["a0"]
	demand := &packet.Record{
		Kind: packet.Report, ID: packet.ID{Rule: "r", Key: "k"},
		Report: control.Report{Rate: 1},
	}
	h := f.by("b0")
	old, future, replay, stranger, self := h, h, h, h, h
	old.Issued -= 61_000
	future.Issued += 61_000
	replay.Sequence -= peers.ReplayWindow + 1
	stranger.Sender, self.Sender = "x", "a0"
	f.forge(n, h, demand)
	for name, c := range map[string]struct {
		header packet.Header
		record *packet.Record
		why    coordinator.Reject
	}{
		"old":      {old, demand, coordinator.RejectTime},
		"future":   {future, demand, coordinator.RejectTime},
		"replayed": {replay, demand, coordinator.RejectReplay},
		"stranger": {stranger, demand, coordinator.RejectStranger},
		"own name": {self, demand, coordinator.RejectStranger},
		"no rule": {h, &packet.Record{
			Kind: packet.Report,
			ID:   packet.ID{Rule: "other", Key: "k"},
		}, coordinator.RejectRule},
		"other PoP": {
			h, &packet.Record{Kind: packet.Ask, ID: packet.ID{Rule: "r", Key: "k"}},
			coordinator.RejectStranger,
		},
		"unused": {
			h, &packet.Record{Kind: packet.Unused, ID: packet.ID{Rule: "r", Key: "k"}},
			coordinator.RejectKind,
		},
	} {
		before := n.Stats().Rejected[c.why]
		f.forge(n, c.header, c.record)
		if got := n.Stats().Rejected[c.why]; got != before+1 {
			t.Errorf("%s: not rejected as %s", name, c.why)
		}
	}
	before := n.Stats().Rejected[coordinator.RejectMalformed]
	n.Receive(f.now, f.now.Time(), []byte{coordinator.Version})
	n.Receive(f.now, f.now.Time(), []byte{coordinator.Version + 1, 1, 'b', 0, 0, 0})
	n.Receive(f.now, f.now.Time(), append(packet.AppendHeader(nil, h), byte(packet.Report), 200, 1))
	if got := n.Stats().Rejected[coordinator.RejectMalformed]; got != before+3 {
		t.Errorf("%d of 3 malformed packets rejected", got-before)
	}
}

// The owner is killed: the standby's view holds without a gap.
func TestOwnerDies(t *testing.T) {
	f := newFleet(t, second, 2, 2, 2)
	rates := asked(map[string]float64{"a": 30_000, "b": 15_000, "c": 5_000})
	f.run(5*time.Second, rates)
	owner, _ := f.owners()
	f.cut = func(from, to string) bool { return from == owner.name || to == owner.name }
	for range 50 {
		f.run(200*time.Millisecond, rates)
		for _, n := range f.order {
			if got := n.advice.Ratio.Float(); n != owner && (got < 0.78 || got > 0.85) {
				t.Fatalf("%s: ratio %.3f after the owner died", n.name, got)
			}
		}
	}
}
