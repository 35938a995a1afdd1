package window

import (
	"fmt"
	"testing"
	"time"
)

// TestUrgentKeysHaveABudget: so many keys are exchanged between two flushes, and the others are
// counted, and stay marked.
func TestUrgentKeysHaveABudget(t *testing.T) {
	p := newPop(4, Limit{Name: "r", Limit: 10, Window: 10 * time.Second})
	const keys = MostUrgent + 50
	for range 2 { // the second one is half of the node's part of what is left
		p.until(p.now.Add(200 * time.Millisecond))
		for n := range keys {
			p.ask(0, "r", fmt.Sprint("k", n))
		}
	}
	for n, want := range []int{MostUrgent, keys - MostUrgent, 0} {
		told := 0
		p.tally = func(d *Due) uint64 {
			if d.Delta > 0 {
				told++
			}
			return p.ring.add(d)
		}
		p.hurry(0)
		if told != want {
			t.Errorf("call %d exchanges %d keys, want %d", n, told, want)
		}
	}
	if got := p.nodes[0].Stats(p.now).Postponed; got != keys-MostUrgent {
		t.Errorf("%d postponed, want %d", got, keys-MostUrgent)
	}
}

// TestALargeLimitIsUrgentOnlyInHaste: of a limit of 10,000 a second on four nodes, what arrives at
// its pace waits for the flush, and what arrives at three times its pace does not.
func TestALargeLimitIsUrgentOnlyInHaste(t *testing.T) {
	for _, c := range []struct {
		pace   int // of this node, in parts of the limit's
		urgent bool
	}{{1, false}, {3, true}} {
		p := newPop(4, Limit{Name: "r", Limit: 10_000, Window: time.Second})
		p.until(p.now.Add(time.Second))
		for range 900 { // a tenth of a second short of a window
			p.until(p.now.Add(time.Millisecond))
			for n := range 4 {
				ask(p.nodes[n].Meter("r"), p.now, "k", 2)
			}
		}
		select {
		case <-p.nodes[0].Urgent():
			t.Errorf("urgent at 0.8 of the limit")
		default:
		}
		for range 60 {
			p.now = p.now.Add(time.Millisecond)
			ask(p.nodes[0].Meter("r"), p.now, "k", int64(c.pace*10/4))
		}
		select {
		case <-p.nodes[0].Urgent():
			if !c.urgent {
				t.Error("urgent at its pace")
			}
		default:
			if c.urgent {
				t.Error("not urgent at three times its pace")
			}
		}
	}
}

// TestAKeyThatOthersUseUpIsReadAtOnce: once other PoPs have used up a quarter of a limit, the
// counter of this one is read without waiting for the next request.
func TestAKeyThatOthersUseUpIsReadAtOnce(t *testing.T) {
	p := newPop(4, Limit{Name: "r", Limit: 600, Window: time.Minute, Global: true})
	p.ask(0, "r", "k")
	p.until(p.now.Add(200 * time.Millisecond))
	c, m := p.nodes[0], p.nodes[0].Meter("r")
	for n, want := range []bool{false, true, false} { // 101, 161 and 221 of 600
		cost := int64(60)
		if n == 0 {
			cost = 100
		}
		period := uint32(int64(p.now) / int64(12*time.Second))
		m.MergeRemote(p.now, 0, m.Index([]byte("k")), 0,
			[]RemoteDelta{{
				Period:       period,
				PeriodTotals: PeriodTotals{Offered: cost, Admitted: cost},
			}})
		urgent := false
		select {
		case <-c.Urgent():
			urgent = true
		default:
		}
		dues, _, _ := c.CollectUrgent(Flush{
			Now: p.now, Interval: p.every, Nodes: 4, Room: 10,
			Down: func(int) bool { return false },
		}, nil, nil)
		if urgent != want || len(dues) > 0 != want {
			t.Errorf("growth %d: urgent %v, %d exchanges, want %v", n, urgent, len(dues), want)
		}
		for k := range dues {
			c.Unsent(&dues[k], p.now, 0, false)
		}
	}
}
