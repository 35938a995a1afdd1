package tables

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

const start = window.Instant(1_700_000_000_000_000_000)

// TestClients: the count is within half of the truth for every number of clients, with an error of
// about 13 % over many keys, and is that of clients, not of requests. Seeds are fixed.
func TestClients(t *testing.T) {
	t.Parallel()
	edgetest.Alone(t)
	for _, clients := range []int{1, 2, 3, 10, 30, 100, 300, 1000, 100_000} {
		table, draw := NewBlast(MaxBlastBytes), rand.New(rand.NewPCG(1, 2))
		sum, rounds := 0.0, edgetest.Rounds(20, 50)
		for key := range rounds {
			index, got := sketch.Index(uint64(key+1)*0x9E3779B97F4A7C15), 0
			for range clients {
				client := sketch.Index(draw.Uint64())
				for range 3 {
					got = table.Note(start, index, client, start+1)
				}
			}
			if off := math.Abs(float64(got-clients)) / float64(clients); off > 0.55 &&
				clients > 3 || math.Abs(float64(got-clients)) > 1 && clients <= 3 {
				t.Errorf("%d clients: counted %d", clients, got)
			}
			sum += math.Pow(float64(got-clients)/float64(clients), 2)
			if again := table.Clients(start, index); again != got {
				t.Errorf("%d clients: %d when asked again", clients, again)
			}
		}
		if err := math.Sqrt(sum / float64(rounds)); err > 0.2 {
			t.Errorf("%d clients: a standard error of %.2f", clients, err)
		}
	}
}

// TestBounds: a key is forgotten after its time, and where all places are taken nothing is counted.
func TestBounds(t *testing.T) {
	t.Parallel()
	table := NewBlast(0)
	if n := table.Note(start, 7, 1, start+10); n != 1 {
		t.Errorf("%d clients", n)
	}
	if n := table.Clients(start+10, 7); n != 0 {
		t.Errorf("%d clients of a key that has ended", n)
	}
	if n := table.Note(start+10, 7, 1<<63, start+20); n != 1 {
		t.Errorf("%d clients, want those since the key was flagged again", n)
	}
	for n := range uint64(100 * table.Stats().Room) {
		table.Note(start+11, sketch.Index(n*0x9E3779B97F4A7C15+1), 1, start+20)
	}
	if s := table.Stats(); s.Dropped == 0 || s.Dropped > uint64(100*s.Room) {
		t.Errorf("%+v", s)
	}
	if n := table.Clients(start+11, 7); n != 1 {
		t.Errorf("a live key lost its clients to others: %d", n)
	}
}

func TestNoteAllocatesNothing(t *testing.T) {
	table, n := NewBlast(MaxBlastBytes), sketch.Index(0)
	if got := testing.AllocsPerRun(1000,
		func() { n += 1 << 50; table.Note(start, n, n, start+1) }); got != 0 {
		t.Errorf("%v allocations", got)
	}
}
