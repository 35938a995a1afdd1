package frame_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/frame"
)

func TestFramesGolden(t *testing.T) {
	b := frame.AppendHead(nil, frame.Records)
	b = frame.AppendRecord(b, frame.Record{
		ID: frame.IDOf("per-ip 203.0.113.7"), Age: 0x0102,
		Body: []byte("first"),
	})
	b = frame.AppendRecord(b, frame.Record{
		ID: frame.IDOf("x"), Age: 0,
		Body: bytes.Repeat([]byte{'y'}, 200),
	})
	golden(t, "records.golden", b)
	golden(t, "packet.golden", append(frame.AppendHead(nil, frame.Packet), "packet"...))
	golden(t, "state.golden", append(frame.AppendHead(nil, frame.State), "state"...))
}

func TestRecordsReadBack(t *testing.T) {
	var b []byte
	sizes := []int{0, 1, 127, 128, frame.MaxRecord}
	for i, size := range sizes {
		b = frame.AppendRecord(b, frame.Record{
			ID: frame.ID{byte(i)}, Age: uint16(i),
			Body: bytes.Repeat([]byte{byte(i)}, size),
		})
	}
	for i, size := range sizes {
		r, rest, err := frame.NextRecord(b)
		if err != nil || r.ID != (frame.ID{byte(i)}) || r.Age != uint16(i) || len(r.Body) != size {
			t.Fatalf("record %d: %+v, %v", i, r, err)
		}
		if cap(r.Body) != len(r.Body) {
			t.Errorf("record %d: an append to it would write into the next", i)
		}
		b = rest
	}
	if len(b) != 0 {
		t.Errorf("%d bytes left", len(b))
	}
}

func TestRecordsThatAreNone(t *testing.T) {
	good := frame.AppendRecord(nil, frame.Record{Body: []byte("body")})
	for i := range good {
		if _, _, err := frame.NextRecord(good[:i]); err == nil {
			t.Errorf("cut after %d bytes: no error", i)
		}
	}
	long := frame.AppendRecord(nil, frame.Record{Body: make([]byte, frame.MaxRecord+1)})
	if _, _, err := frame.NextRecord(long); err == nil {
		t.Error("too long: no error")
	}
	endless := append(make([]byte, frame.IDBytes+2), strings.Repeat("\xff", 20)...)
	if _, _, err := frame.NextRecord(endless); err == nil {
		t.Error("a length without end: no error")
	}
}

func TestClockWraps(t *testing.T) {
	start := time.Unix(1000, 0)
	c := frame.NewClock(start)
	born, now := c.At(start.Add(650*time.Second)), c.At(start.Add(660*time.Second))
	if got := time.Duration(now-born) * frame.AgeUnit; got != 10*time.Second {
		t.Errorf("ten seconds over the wrap are %v", got)
	}
}

// TestSetAgeTurnsBirthIntoAge: the age of a record in a queue is the time since its birth, also
// over the wrap of the clock.
func TestSetAgeTurnsBirthIntoAge(t *testing.T) {
	for _, c := range []struct{ born, now, want uint16 }{
		{100, 100, 0},
		{100, 130, 30},
		{65530, 10, 16},
	} {
		b := frame.AppendRecord(nil, frame.Record{
			ID: frame.IDOf("x"), Age: c.born,
			Body: []byte("body"),
		})
		frame.SetAge(b, c.now)
		if r, _, err := frame.NextRecord(b); err != nil || r.Age != c.want ||
			r.ID != frame.IDOf("x") || string(r.Body) != "body" {
			t.Errorf("born at %d, sent at %d: %+v, %v; want age %d", c.born, c.now, r, err, c.want)
		}
	}
}

// TestHeads: a message of another version, or without a head, is not parsed.
func TestHeads(t *testing.T) {
	if kind, body, err := frame.SplitHead(append(frame.AppendHead(nil, frame.State),
		"state"...)); kind != frame.State || string(body) != "state" || err != nil {
		t.Errorf("%d, %q, %v", kind, body, err)
	}
	for _, b := range [][]byte{nil, {1}, {frame.Version + 1, frame.Packet, 'x'}} {
		if _, _, err := frame.SplitHead(b); err == nil {
			t.Errorf("%v is a message", b)
		}
	}
}

func FuzzRecords(f *testing.F) {
	f.Add(frame.AppendRecord(nil, frame.Record{ID: frame.IDOf("x"), Age: 7, Body: []byte("body")}))
	f.Add(frame.AppendRecord(frame.AppendRecord(nil, frame.Record{Body: []byte("a")}),
		frame.Record{Body: make([]byte, 300)}))
	f.Add([]byte(strings.Repeat("\xff", 40)))
	f.Fuzz(func(t *testing.T, b []byte) {
		for len(b) > 0 {
			r, rest, err := frame.NextRecord(b)
			if err != nil {
				return
			}
			if len(r.Body) > frame.MaxRecord || len(rest) >= len(b) {
				t.Fatalf("a record of %d bytes, %d of %d left", len(r.Body), len(rest), len(b))
			}
			again, _, err := frame.NextRecord(frame.AppendRecord(nil, r))
			if err != nil || again.ID != r.ID || again.Age != r.Age ||
				!bytes.Equal(again.Body, r.Body) {
				t.Fatalf("written and read again: %+v, %v", again, err)
			}
			b = rest
		}
	})
}
