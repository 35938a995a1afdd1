package pop

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate/usedup"
	"github.com/headgate-dev/headgate/edge/ring"
	"github.com/headgate-dev/headgate/edge/ring/ringtest"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

const (
	start = window.Instant(1_800_000_000_000_000_000)
	every = 100 * time.Millisecond
)

var login = &mitigation.Rule{Name: "login", Limit: 5, Window: time.Minute, Scope: mitigation.PoP}

// node is a node with a board; ahead is its clock before the others'.
type node struct {
	*board
	table *usedup.Table
	m     *ringtest.Memory
	ahead time.Duration
	ops   []ring.Op // of the last exchange
}

func newNode(m *ringtest.Memory, ahead time.Duration) *node {
	n := &node{table: new(usedup.Table), m: m, ahead: ahead}
	n.table.SetSecret([]byte("s"))
	n.board = newBoard(options{
		Table: n.table, Digest: ring.NewDigester([]byte("s")), Every: every,
		Servers: m.Servers(), Up: m.Up, Do: m.Do,
	})
	return n
}

// flush is an exchange at so long after start.
func (n *node) flush(at time.Duration, notices ...notice) {
	now := start.Add(at + n.ahead)
	n.ops = n.Collect(n.ops[:0])
	n.m.Do(context.Background(), n.ops)
	n.Merge(now, n.ops)
	for _, note := range notices {
		n.Add(now, note)
	}
	n.Exchange(context.Background(), func() window.Instant { return now })
}

// notice says that key is at its limit until so long after start.
func (n *node) notice(key string, until time.Duration) notice {
	return notice{Name: n.table.Name(login, []byte(key)), Until: start.Add(until + n.ahead)}
}

// left returns for how long after start n takes key to be at its limit; 0: it does not.
func (n *node) left(at time.Duration, key string) time.Duration {
	until := n.table.Until(start.Add(at+n.ahead), n.table.Name(login, []byte(key)))
	if until == 0 {
		return 0
	}
	return until.Sub(start.Add(n.ahead))
}

// TestANoticeReachesTheOthers: at their next exchange, whatever their clocks show. None holds a key
// longer than its writer does, or more than a flush shorter.
func TestANoticeReachesTheOthers(t *testing.T) {
	t.Parallel()
	m := ringtest.NewMemory(3)
	a, b, c := newNode(m, 0), newNode(m, time.Hour), newNode(m, -time.Minute)
	for k, n := range []*node{a, b, c} {
		n.flush(time.Duration(k) * 30 * time.Millisecond)
	}
	a.flush(100*time.Millisecond, a.notice("k", 10*time.Second), a.notice("l", 5*time.Second))
	b.flush(130 * time.Millisecond)
	c.flush(160 * time.Millisecond)
	for what, n := range map[string]*node{"a": a, "b": b, "c": c} {
		for key, until := range map[string]time.Duration{
			"k": 10 * time.Second,
			"l": 5 * time.Second,
		} {
			if got := n.left(200*time.Millisecond, key); got > until || got < until-every {
				t.Errorf("%s takes %s to be at its limit until %v, want %v", what, key, got, until)
			}
		}
		if n.left(200*time.Millisecond, "m") != 0 || n.Stats().Dropped > 0 {
			t.Errorf("%s: %+v", what, n.Stats())
		}
	}
}

// TestNoticesAreFew: short ones, and those that others know, are not written; nor are more than
// mostWritten an exchange.
func TestNoticesAreFew(t *testing.T) {
	t.Parallel()
	m := ringtest.NewMemory(1)
	a, b := newNode(m, 0), newNode(m, 0)
	a.flush(0)
	b.flush(0)
	a.flush(every, a.notice("short", every+2*every-1), a.notice("long", 10*time.Second))
	b.flush(every, b.notice("long", 10*time.Second))
	if sent := [2]uint64{a.Stats().Sent, b.Stats().Sent}; sent != [2]uint64{1, 0} {
		t.Errorf("sent %v", sent)
	}
	b.flush(2*every, b.notice("long", 11*time.Second)) // it knows better
	a.flush(3 * every)
	if got := a.left(3*every, "long"); got < 11*time.Second-2*every {
		t.Errorf("the longer notice holds until %v", got)
	}
	var many []notice
	for k := range 2 * mostWritten {
		many = append(many, a.notice(fmt.Sprint(k), time.Minute))
	}
	a.flush(4*every, many...)
	if s := a.Stats(); s.Sent != 1+mostWritten || s.Dropped != mostWritten {
		t.Errorf("of many: %+v", s)
	}
}

// TestAServerThatIsDownForgetsOrLies: notices go to servers that answer; numbers that begin anew
// are read from their beginning; and no answer makes a key full that is not.
func TestAServerThatIsDownForgetsOrLies(t *testing.T) {
	t.Parallel()
	m := ringtest.NewMemory(2)
	a, b := newNode(m, 0), newNode(m, 0)
	m.SetDown(0, true)
	at := time.Duration(0)
	step := func(key string) {
		at += every
		b.flush(at)
		at += every
		a.flush(at, a.notice(key, at+10*time.Second))
		at += every
		b.flush(at)
		if b.left(at, key) == 0 {
			t.Errorf("%s did not arrive: %+v", key, b.Stats())
		}
	}
	a.flush(0)
	step("one server")
	step("one server still")
	m.Restart(1)
	step("a restart")
	m.SetDown(0, false)
	a.flush(at)
	step("both")
	m.Overwrite(0, 1<<60)
	m.Overwrite(1, 77)
	for range 3 {
		at += every
		b.flush(at)
	}
	if s := b.Stats(); s.Dropped == 0 {
		t.Errorf("after lies: %+v", s)
	}
}

// TestANumberThatSteps: back and forth, its server is left alone for a minute; then its notices are
// read again.
func TestANumberThatSteps(t *testing.T) {
	t.Parallel()
	m := ringtest.NewMemory(1)
	a, b := newNode(m, 0), newNode(m, 0)
	ops, exchanges := 0, 0
	m.Distort(func(*ring.Op) { ops++ })
	a.flush(0)
	a.flush(every, a.notice("first", 10*time.Second)) // makes the server's number
	at := 2 * every
	for ; at < 10*time.Second; at += every {
		exchanges++
		m.Overwrite(0, []uint64{1 << 40, 1 << 39}[exchanges%2])
		b.flush(at)
	}
	if most := exchanges + 4*2*3*mostRead; ops > most {
		t.Errorf("%d operations in %d exchanges, want at most %d", ops, exchanges, most)
	}
	for end := at + unsteady + every; at < end; at += every {
		a.flush(at)
		b.flush(at)
	}
	a.flush(at, a.notice("k", at+10*time.Second))
	if b.flush(at + every); b.left(at+every, "k") == 0 {
		t.Errorf("the notice did not arrive: %+v", b.Stats())
	}
}

// TestANumberWithoutItsNoticeIsReadAgain: between getting a number and writing the notice another
// node may read.
func TestANumberWithoutItsNoticeIsReadAgain(t *testing.T) {
	t.Parallel()
	m := ringtest.NewMemory(1)
	a, b := newNode(m, 0), newNode(m, 0)
	a.flush(0)
	b.flush(0)
	writes := 0
	m.Distort(func(op *ring.Op) {
		if op.Delta > 1<<32 && writes < 2 { // digest and facts: b reads before them
			writes++
		} else if writes == 2 && op.Delta == 0 && op.Total > 1<<32 {
			op.Total = 0
		}
	})
	a.flush(every, a.notice("k", 10*time.Second))
	b.flush(every + 1)
	if b.left(every, "k") != 0 {
		t.Fatal("the notice is read before it is written")
	}
	m.Distort(nil)
	b.flush(2 * every)
	if got := b.left(2*every, "k"); got == 0 || b.Stats().Dropped > 0 {
		t.Errorf("until %v, %+v", got, b.Stats())
	}
}

// FuzzAnswers: whatever the servers answer, a board does not panic, reads no more than its bound,
// and makes no key full whose digest it was not sent.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 9, 9})
	f.Add(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, 3), 1<<63))
	f.Fuzz(func(t *testing.T, answers []byte) {
		m := ringtest.NewMemory(2)
		n := newNode(m, 0)
		n.flush(0)
		at, ops := 0, 0
		m.Distort(func(op *ring.Op) {
			ops++
			if at+8 <= len(answers) {
				op.Total = binary.BigEndian.Uint64(answers[at:])
				at += 8
			}
		})
		for k := range 3 {
			n.flush(time.Duration(k+1)*every, n.notice("mine", time.Minute))
		}
		if ops > 3*2*(3+2*mostRead)+3*4 {
			t.Fatalf("%d operations", ops)
		}
		if n.left(every, "another") != 0 {
			t.Fatal("a key is full that nobody wrote of")
		}
	})
}
