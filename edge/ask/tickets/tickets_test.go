package tickets

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/window"
)

const start = window.Instant(1_700_000_000_000_000_000)

func TestATicketIsGoodOnce(t *testing.T) {
	ts := New(3 << 20)
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

// TestTicketsAgainstAModel holds the ring to a list: the newest MaxTickets that fit are there.
func TestTicketsAgainstAModel(t *testing.T) {
	ts, rng := New(512<<10), rand.New(rand.NewPCG(1, 2))
	type ticket struct {
		number uint64
		text   string
	}
	var all []ticket
	for n := range 200_000 {
		text := fmt.Sprintf("%d %0*d", n, rng.IntN(60), 0)
		all = append(all, ticket{ts.Add([]byte(text), start, rng.Uint64()), text})
		if n%977 != 0 {
			continue
		}
		good := 0
		for k := max(0, len(all)-30_000); k < len(all); k++ {
			at := ts.index[all[k].number&0xffff]
			if at == 0 {
				good = 0
				continue
			}
			good++
		}
		if n > 20_000 && good < 3000 {
			t.Fatalf("after %d only the newest %d are there", n, good)
		}
		pick := all[len(all)-1-rng.IntN(min(len(all), 3000))]
		if got, ok := ts.Take(nil, pick.number, start); ok && string(got) != pick.text {
			t.Fatalf("%x holds %q, want %q", pick.number, got, pick.text)
		}
	}
	live, dropped := ts.Stats()
	if live+dropped < 199_000 || dropped == 0 {
		t.Errorf("%d live, %d dropped", live, dropped)
	}
}

func TestSoManyTicketsLive(t *testing.T) {
	ts := New(3 << 20)
	numbers := make([]uint64, Max)
	text := []byte("a policy, a rule, 203.0.113.7")[:20]
	for k := range numbers {
		numbers[k] = ts.Add(text, start, rand.Uint64())
	}
	if live, dropped := ts.Stats(); live != Max || dropped != 0 {
		t.Fatalf("%d live, %d dropped", live, dropped)
	}
	ts.Add(text, start, rand.Uint64())
	if live, dropped := ts.Stats(); live != Max || dropped != 1 {
		t.Errorf("%d live, %d dropped", live, dropped)
	}
	if _, ok := ts.Take(nil, numbers[0], start); ok {
		t.Error("the oldest is there")
	}
	if _, ok := ts.Take(nil, numbers[1], start); !ok {
		t.Error("the second oldest is gone")
	}
	ts.Expire(start.Add(1))
	if live, dropped := ts.Stats(); live != 0 || dropped != 1 {
		t.Errorf("after their time %d live, %d dropped", live, dropped)
	}
}
