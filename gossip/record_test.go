package gossip

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestFramesGolden(t *testing.T) {
	b := appendHead(nil, kindRecords)
	b = appendRecord(b, record{
		ID: idOf("per-ip 203.0.113.7"), Age: 0x0102,
		Body: []byte("first"),
	})
	b = appendRecord(b, record{
		ID: idOf("x"), Age: 0,
		Body: bytes.Repeat([]byte{'y'}, 200),
	})
	golden(t, "records.golden", b)
	golden(t, "packet.golden", append(appendHead(nil, kindPacket), "packet"...))
	golden(t, "state.golden", append(appendHead(nil, kindState), "state"...))
}

func TestRecordsReadBack(t *testing.T) {
	var b []byte
	sizes := []int{0, 1, 127, 128, MaxRecord}
	for i, size := range sizes {
		b = appendRecord(b, record{
			ID: id{byte(i)}, Age: uint16(i),
			Body: bytes.Repeat([]byte{byte(i)}, size),
		})
	}
	for i, size := range sizes {
		r, rest, err := nextRecord(b)
		if err != nil || r.ID != (id{byte(i)}) || r.Age != uint16(i) || len(r.Body) != size {
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
	good := appendRecord(nil, record{Body: []byte("body")})
	for i := range good {
		if _, _, err := nextRecord(good[:i]); err == nil {
			t.Errorf("cut after %d bytes: no error", i)
		}
	}
	long := appendRecord(nil, record{Body: make([]byte, MaxRecord+1)})
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
	c := newClock(start)
	born, now := c.At(start.Add(650*time.Second)), c.At(start.Add(660*time.Second))
	if got := time.Duration(now-born) * ageUnit; got != 10*time.Second {
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
		b := appendRecord(nil, record{
			ID: idOf("x"), Age: c.born,
			Body: []byte("body"),
		})
		setAge(b, c.now)
		if r, _, err := nextRecord(b); err != nil || r.Age != c.want ||
			r.ID != idOf("x") || string(r.Body) != "body" {
			t.Errorf("born at %d, sent at %d: %+v, %v; want age %d", c.born, c.now, r, err, c.want)
		}
	}
}

// TestHeads: a message of another version, or without a head, is not parsed.
func TestHeads(t *testing.T) {
	if kind, body, err := splitHead(append(appendHead(nil, kindState),
		"state"...)); kind != kindState || string(body) != "state" || err != nil {
		t.Errorf("%d, %q, %v", kind, body, err)
	}
	for _, b := range [][]byte{nil, {1}, {version + 1, kindPacket, 'x'}} {
		if _, _, err := splitHead(b); err == nil {
			t.Errorf("%v is a message", b)
		}
	}
}

func FuzzRecords(f *testing.F) {
	f.Add(appendRecord(nil, record{ID: idOf("x"), Age: 7, Body: []byte("body")}))
	f.Add(appendRecord(appendRecord(nil, record{Body: []byte("a")}),
		record{Body: make([]byte, 300)}))
	f.Add([]byte(strings.Repeat("\xff", 40)))
	f.Fuzz(func(t *testing.T, b []byte) {
		for len(b) > 0 {
			r, rest, err := nextRecord(b)
			if err != nil {
				return
			}
			if len(r.Body) > MaxRecord || len(rest) >= len(b) {
				t.Fatalf("a record of %d bytes, %d of %d left", len(r.Body), len(rest), len(b))
			}
			again, _, err := nextRecord(appendRecord(nil, r))
			if err != nil || again.ID != r.ID || again.Age != r.Age ||
				!bytes.Equal(again.Body, r.Body) {
				t.Fatalf("written and read again: %+v, %v", again, err)
			}
			b = rest
		}
	})
}
