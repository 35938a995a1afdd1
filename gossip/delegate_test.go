package gossip

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/guard"
	"github.com/headgate-dev/headgate/gossip/lossy"
)

// idle is an open node that does not run: nobody empties its queues.
func idle(t *testing.T, change func(*Config)) *Node {
	t.Helper()
	cfg := Config{
		Name: "n", Bind: "10.0.0.1:1", Key: key(1),
		Transport: lossy.New(1, lossy.Fault{}).End("10.0.0.1:1"),
	}
	if change != nil {
		change(&cfg)
	}
	n, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func packet(text string) []byte { return append(appendHead(nil, kindPacket), text...) }

// memberlist calls from its only packet goroutine: a full inbox must cost a packet, not the wait.
func TestDelegateNeverWaits(t *testing.T) {
	n := idle(t, nil)
	d := delegate{n}
	for range maxInbox + 10 {
		d.NotifyMsg(packet("x"))
	}
	for range maxStates + 3 {
		d.MergeRemoteState(append(appendHead(nil, kindState), "x"...), false)
	}
	if got := n.Stats().Dropped["inbox"]; got != 13 {
		t.Errorf("%d dropped for want of room, want 13", got)
	}
	if got := n.Stats().Waiting; got != maxInbox+maxStates {
		t.Errorf("%d wait, want %d", got, maxInbox+maxStates)
	}
}

func TestDelegateCopiesLentBytes(t *testing.T) {
	n := idle(t, nil)
	d := delegate{n}
	b, kindState := packet("before"), append(appendHead(nil, kindState), "before"...)
	d.NotifyMsg(b)
	d.MergeRemoteState(kindState, false)
	copy(b[headBytes:], "AFTER!")
	copy(kindState[headBytes:], "AFTER!")
	if got := string((<-n.inbox.messages).body); got != "before" {
		t.Errorf("the message is now %q", got)
	}
	if got := string(<-n.inbox.states); got != "before" {
		t.Errorf("the state is now %q", got)
	}
}

func TestTooLongIsRefused(t *testing.T) {
	n := idle(t, func(c *Config) {
		c.State = func(bool) []byte {
			return make([]byte,
				MaxState+1)
		}
	})
	n.roster.members["other"] = &entry{}
	d := delegate{n}
	n.Send("other", make([]byte, MaxPacket+1))
	n.Send("other", nil)
	n.Spread("name", make([]byte, MaxRecord+1))
	n.Spread("name", nil)
	d.NotifyMsg(make([]byte, guard.MaxDatagram+1))
	d.MergeRemoteState(make([]byte, headBytes+MaxState+1), false)
	if got := d.LocalState(false); got != nil {
		t.Errorf("a state of %d bytes was sent", len(got))
	}
	if got := n.Stats().Dropped["oversize"]; got != 7 {
		t.Errorf("%d dropped as too long, want 7", got)
	}
	if s := n.Stats(); s.Queued+s.Waiting+s.Sending != 0 {
		t.Errorf("something was queued all the same: %+v", s)
	}
}

func TestMalformedIsCounted(t *testing.T) {
	n := idle(t, nil)
	d := delegate{n}
	for _, b := range [][]byte{
		nil,
		{1},
		{2, kindPacket, 'x'},
		{version, 99, 'x'},
		{version, kindState, 'x'},
	} {
		d.NotifyMsg(b)
	}
	d.MergeRemoteState([]byte{version, kindPacket, 'x'}, false)
	n.receive(message{kindRecords, []byte("no record")})
	if got := n.Stats().Dropped["malformed"]; got != 7 {
		t.Errorf("%d dropped as malformed, want 7", got)
	}
}

func TestSendIsBounded(t *testing.T) {
	n := idle(t, nil)
	n.roster.members["other"] = &entry{}
	n.Send("nobody", []byte("x"))
	for range maxSending + 5 {
		n.Send("other", []byte("x"))
	}
	d := n.Stats().Dropped
	if d["unknown_member"] != 1 || d["send_queue"] != 5 {
		t.Errorf("dropped %d to nobody and %d for want of room, want 1 and 5",
			d["unknown_member"], d["send_queue"])
	}
}

func TestQueueIsBoundedAndKeepsTheNewest(t *testing.T) {
	// the first push prunes a queue that was never used: memberlist's Prune would panic
	n := idle(t, nil)
	for i := range maxQueued + 100 {
		n.Spread(fmt.Sprint(i), []byte("x"))
	}
	if s := n.Stats(); s.Queued != maxQueued || s.Dropped["pruned"] != 100 {
		t.Errorf("%d queued and %d pruned, want %d and 100", s.Queued,
			s.Dropped["pruned"], maxQueued)
	}

	n = idle(t, nil)
	for i := range 10 {
		n.Spread("same", fmt.Append(nil, "version ", i))
	}
	b, records := n.queue.pack(udpBuffer, 0)
	if records != 1 || !strings.HasSuffix(string(b), "version 9") {
		t.Errorf("%d records are spread under one name: %q, want only the newest", records, b)
	}
}

// All records of a packet form one message within memberlist's limit.
func TestOneMessageAPacket(t *testing.T) {
	n := idle(t, nil)
	for i := range 200 {
		n.Spread(fmt.Sprint(i), bytes.Repeat([]byte{byte(i)}, 1+i%60))
	}
	big := delegate{n}.GetBroadcasts(3, 1300)
	if len(big) != 1 || len(big[0]) < 1200 {
		t.Fatalf("%d messages of 1,300 bytes room, want a full one", len(big))
	}
	n.receive(message{kindRecords, big[0][headBytes:]})
	if in, bad := n.Stats().RecordsIn, n.Stats().Dropped["malformed"]; in < 15 || bad != 0 {
		t.Errorf("%d records read back, %d malformed", in, bad)
	}
	for limit := range 200 {
		for overhead := range 4 {
			list := delegate{n}.GetBroadcasts(overhead, limit)
			if len(list) > 1 || len(list) == 1 && len(list[0])+overhead > limit {
				t.Fatalf("limit %d, overhead %d: %d messages, the first of %d bytes", limit,
					overhead, len(list), len(list[0]))
			}
		}
	}
}

// The age of a record is its time in queues, summed over nodes.
func TestAgeAddsUp(t *testing.T) {
	n := idle(t, func(c *Config) { c.ReceiveRecord = func([]byte) bool { return true } })
	n.clock = newClock(time.Now().Add(-10 * time.Minute))
	n.receiveRecord(record{ID: idOf("x"), Age: 30, Body: []byte("x")})
	b, _ := n.queue.pack(udpBuffer, n.clock.At(time.Now().Add(time.Second)))
	r, _, err := nextRecord(b[headBytes:])
	if err != nil || r.Age < 129 || r.Age > 140 {
		t.Errorf("age %d after 300 ms elsewhere and a second here, want about 130: %v", r.Age, err)
	}
	if lag := n.Stats().Lag; lag.Count != 1 || lag.Sum != 300*time.Millisecond ||
		lag.Buckets[1] != 0 || lag.Buckets[2] != 1 {
		t.Errorf("lag %+v, want one of 300 ms", lag)
	}
}

// TestMetaIsChecked: SetMeta takes no text that is too long, and no word of leaving but Run's own.
func TestMetaIsChecked(t *testing.T) {
	n := idle(t, nil)
	if n.SetMeta(Meta{Rules: strings.Repeat("x", MaxMetaText+1)}) == nil {
		t.Error("a text that is too long was accepted")
	}
	if err := n.SetMeta(Meta{PoP: "lhr", Leaving: true}); err != nil ||
		n.meta() != (Meta{PoP: "lhr"}) {
		t.Errorf("%+v, %v", n.meta(), err)
	}
}
