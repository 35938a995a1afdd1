package ask

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/lease"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

const (
	start = window.Instant(1_700_000_000_000_000_000)
	whole = 5 << 20 // bytes of the largest store
)

func TestATicketIsGoodOnce(t *testing.T) {
	ts := newTickets(whole)
	n := ts.Add([]byte("text"), start.Add(time.Minute), rand.Uint64())
	if got, ok := ts.Take(nil, n, start); !ok || string(got) != "text" {
		t.Fatalf("%q %v", got, ok)
	}
	if _, ok := ts.Take(nil, n, start); ok {
		t.Error("good twice")
	}
	if _, ok := ts.Take(nil, 0, start); ok {
		t.Error("number 0 is a ticket")
	}
	n = ts.Add([]byte("text"), start.Add(time.Minute), rand.Uint64())
	if _, ok := ts.Take(nil, n^1<<40, start); ok {
		t.Error("a guessed number with the right place is a ticket")
	}
	if _, ok := ts.Take(nil, n, start.Add(time.Minute+1)); ok {
		t.Error("good after its time")
	}
	if live, dropped := ts.Stats(); live != 0 || dropped != 0 {
		t.Errorf("%d live, %d dropped", live, dropped)
	}
}

// TestTicketsAgainstAModel holds the store to a map: what was added and not taken, dropped or over
// is there as it was.
func TestTicketsAgainstAModel(t *testing.T) {
	edgetest.Alone(t)
	type ticket struct {
		text  []byte
		until window.Instant
	}
	ts, rng := newTickets(0), rand.New(rand.NewPCG(1, 2))
	model := map[uint64]ticket{}
	now, drops := start, uint64(0)
	pick := func() uint64 {
		for n := range model {
			return n
		}
		return rng.Uint64() | 1<<63
	}
	for n := range 100_000 {
		now = now.Add(time.Duration(rng.IntN(2000)) * time.Microsecond)
		switch is := rng.IntN(10); {
		case is < 6:
			text := make([]byte, rng.IntN(120))
			if rng.IntN(100) == 0 {
				text = make([]byte, rng.IntN(mostTicketText+1))
			}
			for i := range text {
				text[i] = byte(rng.Uint32())
			}
			until := now.Add(time.Duration(rng.IntN(2000)) * time.Millisecond)
			number := uint64(0)
			for number == 0 {
				if number = ts.Add(text, until, rng.Uint64()); number == 0 {
					first, least := uint64(0), window.Instant(1<<62)
					for n, is := range model {
						if is.until < least {
							first, least = n, is.until
						}
					}
					got := ts.First(nil, now)
					if least >= now {
						if drops++; !bytes.Equal(got, model[first].text) {
							same := false
							for n, is := range model {
								if is.until == least && bytes.Equal(is.text, got) {
									first, same = n, true
								}
							}
							if !same {
								t.Fatalf("step %d: another record went than the one that ends "+
									"first", n)
							}
						}
					}
					delete(model, first)
				}
			}
			model[number] = ticket{text, until}
		case is < 7:
			number := pick()
			until := now.Add(time.Second)
			if m, ok := model[number]; ok && until > m.until {
				m.until = until
				model[number] = m
			}
			ts.Extend(number, until)
		default:
			number := pick()
			m, ok := model[number]
			ok = ok && m.until >= now
			if got, is := ts.Look(nil, number, now); is != ok || ok && !bytes.Equal(got, m.text) {
				t.Fatalf("step %d: a look at %x: %v, want %v", n, number, is, ok)
			}
			if got, is := ts.Take(nil, number, now); is != ok || ok && !bytes.Equal(got, m.text) {
				t.Fatalf("step %d: %x: %v, want %v", n, number, is, ok)
			}
			delete(model, number)
		}
	}
	if live, dropped := ts.Stats(); live != uint64(len(model)) || dropped != drops || drops == 0 {
		t.Errorf("%d live, want %d; %d dropped, want %d", live, len(model), dropped, drops)
	}
	ts.Expire(now.Add(time.Hour))
	if live, _ := ts.Stats(); live != 0 || ts.room != len(ts.places) {
		t.Errorf("after their time %d live, %d of %d places free", live, ts.room, len(ts.places))
	}
}

// 65,536 tickets of 48 bytes fit into 5 MiB, and a slow one outlives 70,000 quick ones.
func TestSoManyTicketsLive(t *testing.T) {
	ts := newTickets(whole)
	if size := int(unsafe.Sizeof(place{})) + 2; size != placeBytes {
		t.Errorf("a place has %d bytes, not %d", size, placeBytes)
	}
	text := bytes.Repeat([]byte("k"), 48)
	slow := ts.Add(text, start.Add(time.Minute), rand.Uint64())
	for range 70_000 {
		if _, ok := ts.Take(nil, ts.Add(text, start.Add(time.Minute), rand.Uint64()), start); !ok {
			t.Fatal("a quick one is gone")
		}
	}
	for range mostTickets - 1 {
		if ts.Add(text, start.Add(2*time.Minute), rand.Uint64()) == 0 {
			t.Fatal("no room")
		}
	}
	if live, dropped := ts.Stats(); live != mostTickets || dropped != 0 ||
		ts.Add(text, start, rand.Uint64()) != 0 {
		t.Errorf("%d live, %d dropped", live, dropped)
	}
	if _, ok := ts.Take(nil, slow, start); !ok {
		t.Error("the slow one is gone")
	}
}

func BenchmarkTicket(b *testing.B) {
	ts := newTickets(whole)
	text := bytes.Repeat([]byte("k"), 40)
	var dst []byte
	for n := range 30_000 { // under way
		ts.Add(text, start.Add(time.Duration(n)), rand.Uint64())
	}
	for n := range b.N {
		dst, _ = ts.Take(dst[:0], ts.Add(text, start.Add(time.Duration(30_000+n)), 7), start)
	}
}

// TestWaitingBytes: each ticket that can live has a place to wait in.
func TestWaitingBytes(t *testing.T) {
	if places := WaitingBytes(TicketBytes) / lease.Bytes; places < mostTickets {
		t.Errorf("%d places for %d tickets", places, mostTickets)
	}
}
