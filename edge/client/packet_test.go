package client

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/wire"
)

const lastID = 1<<36 - 1

// checkPacket returns a query about an address.
func checkPacket(rule, key string) wire.Query {
	return wire.Query{Op: wire.Check, Rule: []byte(rule), Key: []byte(key)}
}

func TestFortyAddressesFitADatagram(t *testing.T) {
	p := newDatagram(0)
	for i := range maxLines {
		if !p.Append(checkPacket("per-ip", "203.0.113.7")) {
			t.Fatalf("no room for address %d within %d bytes", i+1, len(p.Bytes()))
		}
	}
}

func TestLinesAreBounded(t *testing.T) {
	p := newDatagram(0)
	for p.Append(checkPacket("r", "k")) && p.Lines() < 2*maxLines {
	}
	if p.Lines() != maxLines {
		t.Errorf("%d lines in a packet, want %d at most", p.Lines(), maxLines)
	}
}

func TestLongestQueryFitsADatagram(t *testing.T) {
	longest := checkPacket(strings.Repeat("r", wire.MaxRule), strings.Repeat("\x00", wire.MaxKey))
	longest.Cost = wire.MaxCost
	p := newDatagram(0)
	room := cap(p.Bytes())
	for range 3 {
		p.Reset(true)
		if !p.Append(longest) || p.Append(longest) {
			t.Fatalf("%d lines of the longest query fit, want 1", p.Lines())
		}
		if len(p.Bytes()) > packetSize {
			t.Fatalf("a datagram of %d bytes", len(p.Bytes()))
		}
	}
	if cap(p.Bytes()) != room {
		t.Error("the buffer has grown")
	}
}

// A query without room leaves the datagram as it was.
func TestQueryWithoutRoomLeavesNoTrace(t *testing.T) {
	p := newDatagram(0)
	long := checkPacket("r", strings.Repeat("k", wire.MaxKey))
	for p.Append(long) {
	}
	whole := bytes.Split(p.Bytes(), []byte{'\n'})
	if len(whole) != p.Lines() || len(p.Bytes()) > packetSize {
		t.Fatalf("%d lines in %d bytes, want %d lines", len(whole), len(p.Bytes()), p.Lines())
	}
	for i, line := range whole {
		var q wire.Query
		code := wire.ParseQuery(&q, line)
		if id, ok := parseID(q.ID); code != wire.NoError || !ok || id != p.ID(i) ||
			!bytes.Equal(q.Key, long.Key) {
			t.Errorf("line %d is %q", i, line)
		}
	}
}

// Each line has the id after the one before it, in one datagram and in the next.
func TestIDsGoOn(t *testing.T) {
	p := newDatagram(lastID - 1)
	for _, want := range []uint64{lastID - 1, 0} {
		p.Reset(false)
		for range 2 {
			p.Append(checkPacket("r", "k"))
		}
		first, second, _ := bytes.Cut(p.Bytes(), []byte{'\n'})
		for i, line := range [][]byte{first, second} {
			var q wire.Query
			_ = wire.ParseQuery(&q, line)
			id, ok := parseID(q.ID)
			if next := nextID(want, i); !ok || id != next || p.ID(i) != next {
				t.Errorf("line %d has id %d, ID says %d, want %d", i, id, p.ID(i), next)
			}
		}
	}
}

// A padded query is as long as the longest reply, so that a daemon that bounds replies by the
// length of their queries leaves out nothing. The padding changes nothing in the query.
func TestPaddingLeavesRoomForReplies(t *testing.T) {
	for n := range 80 {
		key := strings.Repeat("k", n+1)
		p := newDatagram(lastID)
		p.Reset(true)
		sent := checkPacket("r", key)
		sent.Wait = n%2 > 0
		p.Append(sent)
		var q wire.Query
		code := wire.ParseQuery(&q, p.Bytes())
		if code != wire.NoError || string(q.Key) != key || q.Wait != sent.Wait {
			t.Fatalf("%q is read as %+v, %v", p.Bytes(), q, code)
		}
		a := wire.Answer{
			ID: q.ID, Remaining: 1e9, Reset: 86400,
			View: wire.ViewGlobal, Shadow: true,
		}
		if q.Wait {
			a.Delay = 60_000
		}
		if reply := wire.AppendAnswer(nil, &a); len(p.Bytes()) < len(reply) {
			t.Errorf("a query of %d bytes, but a reply of %d", len(p.Bytes()), len(reply))
		}
	}
}

func TestIDs(t *testing.T) {
	for _, id := range []uint64{0, 1, 63, 64, 123456789, lastID - 1, lastID} {
		b := appendID(nil, id)
		if back, ok := parseID(b); !ok || back != id || len(b) != 6 {
			t.Errorf("id %d is written %q and read %d, %v", id, b, back, ok)
		}
	}
	if nextID(lastID, 1) != 0 {
		t.Error("ids do not wrap")
	}
	for _, bad := range []string{"", "AAAAA", "AAAAAAA", "AAAAA~", "/AAAAA"} {
		if id, ok := parseID([]byte(bad)); ok {
			t.Errorf("%q is taken for id %d", bad, id)
		}
	}
}

func Example_datagram() {
	p := newDatagram(0)
	p.Append(wire.Query{Op: wire.Check, Rule: []byte("login"), Key: []byte("alice")})
	p.Append(wire.Query{Op: wire.Peek, Rule: []byte("per-ip"), Key: []byte("203.0.113.7")})
	fmt.Printf("%s\n", p.Bytes())
	// Output:
	// check login alice id=000000
	// peek per-ip 203.0.113.7 id=000001
}
