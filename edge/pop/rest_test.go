package pop_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/pop"
	"github.com/headgate-dev/headgate/edge/pop/poptest"
	"github.com/headgate-dev/headgate/edge/ring"
	"github.com/headgate-dev/headgate/edge/ring/ringtest"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// TestAFlushRests: a flush of many keys lets others run between parts of its work: while it looks
// for keys, names their counters, and merges their totals. With few keys it hardly does.
func TestAFlushRests(t *testing.T) {
	servers := ringtest.Servers()
	placement, err := ring.NewPlacement(servers)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Unix(1_700_000_000, 0)
	g := gate.New(gate.Options{
		Node: "a", Memory: 16 << 20, Rules: []mitigation.Rule{poptest.Rule(10, time.Minute)},
		Flush: poptest.Every, Servers: len(servers), Start: began,
	})
	rests, now := 0, window.Instant(began.UnixNano())
	f := pop.New(g, pop.Options{
		Tally: ringtest.NewMemory(len(servers)), Placement: placement, Secret: []byte("s"),
		Every: poptest.Every, Rest: func() { rests++ },
	})
	flush := func(keys int) int {
		for n := range keys {
			gatetest.Decide(g, now, gate.Check, "r", fmt.Sprint(n), 5) // enough for a slot
		}
		rests, now = 0, now.Add(poptest.Every)
		f.Flush(t.Context(), now, time.Unix(0, int64(now)))
		return rests
	}
	for range 30 {
		flush(1) // the heartbeat of the first seconds
	}
	few, many := flush(1), flush(4096)
	if more := many - few; few > 20 || more < 2*4096/128-2 {
		t.Errorf("a flush rests %d times, and %d times more with 4,096 keys", few, more)
	}
}
