package gossip

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestFramesGolden(t *testing.T) {
	b := appendHead(nil, kindRecords)
	b = appendRecord(b, record{idOf("per-ip 203.0.113.7"), 0x0102, []byte("first")})
	b = appendRecord(b, record{idOf("x"), 0, bytes.Repeat([]byte{'y'}, 200)})
	golden(t, "records.golden", b)
	golden(t, "packet.golden", append(appendHead(nil, kindPacket), "packet"...))
	golden(t, "state.golden", append(appendHead(nil, kindState), "state"...))
}

func TestRecordsReadBack(t *testing.T) {
	var b []byte
	sizes := []int{0, 1, 127, 128, MaxRecord}
	for i, size := range sizes {
		b = appendRecord(b, record{id{byte(i)}, uint16(i), bytes.Repeat([]byte{byte(i)}, size)})
	}
	for i, size := range sizes {
		r, rest, err := nextRecord(b)
		if err != nil || r.id != (id{byte(i)}) || r.age != uint16(i) || len(r.body) != size {
			t.Fatalf("record %d: %+v, %v", i, r, err)
		}
		if cap(r.body) != len(r.body) {
			t.Errorf("record %d: an append to it would write into the next", i)
		}
		b = rest
	}
	if len(b) != 0 {
		t.Errorf("%d bytes left", len(b))
	}
}

func TestRecordsThatAreNone(t *testing.T) {
	good := appendRecord(nil, record{body: []byte("body")})
	for i := range good {
		if _, _, err := nextRecord(good[:i]); err == nil {
			t.Errorf("cut after %d bytes: no error", i)
		}
	}
	long := appendRecord(nil, record{body: make([]byte, MaxRecord+1)})
	if _, _, err := nextRecord(long); err == nil {
		t.Error("too long: no error")
	}
	endless := append(make([]byte, idBytes+2), strings.Repeat("\xff", 20)...)
	if _, _, err := nextRecord(endless); err == nil {
		t.Error("a length without end: no error")
	}
}

func TestClockWraps(t *testing.T) {
	start := time.Unix(1000, 0)
	c := clock{start}
	born, now := c.at(start.Add(650*time.Second)), c.at(start.Add(660*time.Second))
	if got := time.Duration(now-born) * ageUnit; got != 10*time.Second {
		t.Errorf("ten seconds over the wrap are %v", got)
	}
}

func FuzzRecords(f *testing.F) {
	f.Add(appendRecord(nil, record{idOf("x"), 7, []byte("body")}))
	f.Add(appendRecord(appendRecord(nil, record{body: []byte("a")}), record{body: make([]byte, 300)}))
	f.Add([]byte(strings.Repeat("\xff", 40)))
	f.Fuzz(func(t *testing.T, b []byte) {
		for len(b) > 0 {
			r, rest, err := nextRecord(b)
			if err != nil {
				return
			}
			if len(r.body) > MaxRecord || len(rest) >= len(b) {
				t.Fatalf("a record of %d bytes, %d of %d left", len(r.body), len(rest), len(b))
			}
			again, _, err := nextRecord(appendRecord(nil, r))
			if err != nil || again.id != r.id || again.age != r.age || !bytes.Equal(again.body, r.body) {
				t.Fatalf("written and read again: %+v, %v", again, err)
			}
			b = rest
		}
	})
}

// FuzzInbox feeds a node any bytes as a message or a state, and lets it handle them.
func FuzzInbox(f *testing.F) {
	f.Add(packet("packet"))
	f.Add(appendRecord(appendHead(nil, kindRecords), record{body: []byte("a")}))
	f.Add(append(appendHead(nil, kindState), "state"...))
	f.Add([]byte{frameVersion + 1, kindPacket})
	f.Fuzz(func(t *testing.T, b []byte) {
		n := idle(t, func(c *Config) { c.ReceiveRecord = func([]byte) bool { return true } })
		n.inbox.offer(b)
		n.inbox.offerState(b)
		s := n.Stats()
		taken := uint64(s.Waiting)
		for s.Waiting > 0 {
			select {
			case m := <-n.inbox.messages:
				n.receive(m)
			case <-n.inbox.states:
			}
			s = n.Stats()
		}
		if refused := s.Dropped["malformed"] + s.Dropped["oversize"]; taken > 2 || taken+refused < 2 {
			t.Errorf("%d taken and %d refused of two", taken, refused)
		}
	})
}
