package coordinator

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// owners returns owner and standby of the test's key.
func (f *fleet) owners() (owner, standby *node) {
	o, s := f.order[0].assignment.Owners("r", "k")
	return f.nodes[o], f.nodes[s]
}

// forge packs records as sender would, and hands them to n.
func (f *fleet) forge(n *node, h header, records ...*record) {
	packet := appendHeader(nil, h)
	for _, r := range records {
		packet, _ = appendRecord(packet, r, nil)
	}
	n.Receive(f.now, f.now.Time(), packet)
}

// by returns a header of sender as it would be now.
func (f *fleet) by(sender string) header {
	return header{sender: sender, session: 1 << 50, sequence: 1 << 40, issued: int64(f.now) / int64(time.Millisecond)}
}

// An owner that lies convicts nobody: its standby does not agree.
func TestLyingOwnerConvictsNobody(t *testing.T) {
	f := newFleet(t, second, 2, 2, 2)
	good := asked(map[string]float64{"a": 3_000, "b": 2_000, "c": 1_000})
	f.run(3*time.Second, good)
	owner, _ := f.owners()
	for _, n := range f.order {
		d := n.reporterKeys[reporterKeyID{id{"r", "k"}, false}]
		if d == nil {
			continue
		}
		lie := control.GlobalView{Sum: 1e9, Limit: 1, Shed: true, EchoRate: 1, Blocked: time.Hour}
		r := &record{kind: kindView, id: id{"r", "k"}, nonce: d.nonce, view: lie, from: owner.pop}
		if n != owner {
			f.forge(n, f.by(owner.name), r)
		}
	}
	f.run(200*time.Millisecond, good)
	for _, n := range f.order {
		if n.advice.Ratio != 0 || n.advice.View.Blocked != 0 {
			t.Errorf("%s: ratio %v, blocked %v on one member's view", n.name, n.advice.Ratio.Float(), n.advice.View.Blocked)
		}
	}
}

// An unasked view is not believed: only those who were asked know the nonce.
func TestUnaskedViewsAreIgnored(t *testing.T) {
	f := newFleet(t, second, 2, 2, 2, 2, 2)
	good := asked(map[string]float64{"a": 3_000, "b": 2_000, "c": 500, "d": 500, "e": 500})
	f.run(3*time.Second, good)
	for _, n := range f.order {
		for _, k := range []kind{kindView, kindAdvice} {
			r := &record{kind: k, id: id{"r", "k"}, nonce: 12345, from: "a", view: control.GlobalView{Sum: 1e9, Limit: 1, Shed: true}}
			for _, sender := range f.order {
				if sender != n {
					f.forge(n, f.by(sender.name), r)
				}
			}
		}
		if n.advice.Ratio != 0 {
			t.Errorf("%s: ratio %v", n.name, n.advice.Ratio.Float())
		}
		if n.Stats().Rejected[rejectUnasked] == 0 {
			t.Errorf("%s: nothing rejected as unasked", n.name)
		}
	}
}

func TestPacketsThatAreRejected(t *testing.T) {
	f := newFleet(t, second, 2, 2)
	n := f.nodes["a0"]
	demand := &record{kind: kindReport, id: id{"r", "k"}, report: control.Report{Rate: 1}}
	h := f.by("b0")
	old, future, replay, stranger, self := h, h, h, h, h
	old.issued -= 61_000
	future.issued += 61_000
	replay.sequence -= replayWindow + 1
	stranger.sender, self.sender = "x", "a0"
	f.forge(n, h, demand)
	for name, c := range map[string]struct {
		header header
		record *record
		why    Reject
	}{
		"old":       {old, demand, rejectTime},
		"future":    {future, demand, rejectTime},
		"replayed":  {replay, demand, rejectReplay},
		"stranger":  {stranger, demand, rejectStranger},
		"own name":  {self, demand, rejectStranger},
		"no rule":   {h, &record{kind: kindReport, id: id{"other", "k"}}, rejectRule},
		"other PoP": {h, &record{kind: kindAsk, id: id{"r", "k"}}, rejectStranger},
		"notice":    {h, &record{kind: kindHint, id: id{"r", "k"}}, rejectKind},
	} {
		before := n.Stats().Rejected[c.why]
		f.forge(n, c.header, c.record)
		if got := n.Stats().Rejected[c.why]; got != before+1 {
			t.Errorf("%s: not rejected as %s", name, c.why)
		}
	}
	before := n.Stats().Rejected[rejectMalformed]
	n.Receive(f.now, f.now.Time(), []byte{Version})
	n.Receive(f.now, f.now.Time(), []byte{Version + 1, 1, 'b', 0, 0, 0})
	packet := appendHeader(nil, h)
	n.Receive(f.now, f.now.Time(), append(packet, byte(kindReport), 200, 1))
	if got := n.Stats().Rejected[rejectMalformed]; got != before+3 {
		t.Errorf("%d of 3 malformed packets rejected", got-before)
	}
}

// A member that spreads a million hints fills its own quota and nobody else's.
func TestHintsAreBoundedBySender(t *testing.T) {
	f := newFleet(t, second, 1, 1, 1)
	n := f.nodes["a0"]
	hint := func(from string, k int, seq uint64, until window.Instant) []byte {
		r := record{
			kind: kindHint, id: id{"r", fmt.Sprint(k)}, from: from, seq: seq, until: int64(until) / int64(time.Millisecond),
			view: control.GlobalView{Sum: 1, Limit: 1},
		}
		b, _ := appendRecord([]byte{Version}, &r, nil)
		return b
	}
	for k := range 100_000 {
		if k%200 == 0 {
			f.now = f.now.Add(50 * time.Millisecond)
			n.Tick(f.now, f.now.Time())
		}
		n.ReceiveHint(f.now, f.now.Time(), hint("b0", k, 1, f.now.Add(hintTTL)))
	}
	if live := len(n.hints); live > MaxOwnerHints || live < 1000 {
		t.Errorf("%d hints of one sender in force, want some and at most %d", live, MaxOwnerHints)
	}
	if !n.ReceiveHint(f.now, f.now.Time(), hint("c0", 1_000_000, 1, f.now.Add(hintTTL))) {
		t.Error("another sender's first is not taken")
	}
	if n.ReceiveHint(f.now, f.now.Time(), hint("c0", 1_000_000, 1, f.now.Add(hintTTL))) {
		t.Error("the same is news again")
	}
	for name, until := range map[string]window.Instant{"past": f.now, "far future": f.now.Add(3 * hintTTL)} {
		if n.ReceiveHint(f.now, f.now.Time(), hint("c0", 1_000_001, 1, until)) {
			t.Errorf("%s is taken", name)
		}
	}
	if n.ReceiveHint(f.now, f.now.Time(), hint("nobody", 1_000_002, 1, f.now.Add(hintTTL))) {
		t.Error("a stranger's is taken")
	}
	f.now = f.now.Add(hintTTL + time.Second)
	for range visitTicks {
		n.Tick(f.now, f.now.Time())
	}
	if len(n.hints) != 0 {
		t.Errorf("%d hints live for ever", len(n.hints))
	}
	if live := n.quota("b0").live; live != 0 {
		t.Errorf("%d forgotten hints still count", live)
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
