package window

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

// adder is a ring: it adds up by name.
type adder map[string]uint64

func (a adder) add(d *Due) uint64 {
	name := fmt.Sprint(d.Rule, d.Variant, d.Window, d.Period, string(d.Key))
	if d.Delta > 0 {
		a[name] += d.Delta
	}
	return a[name]
}

// pop is a few nodes that count together.
type pop struct {
	nodes  []*Counter
	ring   adder
	tally  func(d *Due) uint64 // in place of ring, if not nil
	every  time.Duration
	now    Instant
	round  int
	dues   []Due
	keys   []byte
	fails  func(d *Due) (failed, sent bool)
	lies   func(d *Due, total uint64) uint64
	cut    func(n int) bool        // whether a node's ring is down
	learns func(n int, s Standing) // called with each standing that a node learns
	lied   int
	asked  int
}

const testFlush = 100 * time.Millisecond

func newPop(nodes int, limits ...Limit) *pop {
	p := &pop{ring: adder{}, every: testFlush, now: start}
	for range nodes {
		c := NewSharedCounter(1<<20, p.every)
		for n := range limits {
			limits[n].Shared = true
		}
		c.Configure(limits)
		p.nodes = append(p.nodes, c)
	}
	return p
}

// until moves time on, each node flushing at its own moment of every interval.
func (p *pop) until(end Instant) {
	step := p.every / time.Duration(len(p.nodes))
	for {
		next := start.Add(time.Duration(p.round+1) * step)
		if next > end {
			break
		}
		p.now = next
		p.round++
		p.flush(p.round % len(p.nodes))
	}
	p.now = end
}

func (p *pop) flush(n int) {
	c := p.nodes[n]
	cut := p.cut != nil && p.cut(n)
	f := Flush{
		Now: p.now, Interval: p.every, Nodes: len(p.nodes), Room: 1000, Alone: cut,
		Down: func(int) bool { return cut },
	}
	p.dues, p.keys = c.Collect(f, p.dues[:0], p.keys[:0])
	p.dues = c.CollectHints(f, p.dues)
	p.exchange(n, f)
}

// hurry has node n exchange its urgent keys.
func (p *pop) hurry(n int) {
	f := Flush{
		Now: p.now, Interval: p.every, Nodes: len(p.nodes), Room: 1000,
		Down: func(int) bool { return false },
	}
	p.dues, p.keys, _ = p.nodes[n].CollectUrgent(f, p.dues[:0], p.keys[:0])
	p.exchange(n, f)
}

func (p *pop) exchange(n int, f Flush) {
	c := p.nodes[n]
	for k := range p.dues {
		d := &p.dues[k]
		if !d.Hint() {
			p.asked++
		}
		if d.Alone() {
			c.Alone(f, d)
			continue
		}
		if p.fails != nil {
			if failed, sent := p.fails(d); failed {
				c.Unsent(d, p.now, 0, sent)
				continue
			}
		}
		total := p.add(d)
		if p.lies != nil {
			total = p.lies(d, total)
		}
		if !c.Plausible(f, d, total) {
			p.lied++
		}
		if s, ok := c.Merge(f, d, total, 0); ok && p.learns != nil {
			p.learns(n, s)
		}
	}
}

func (p *pop) add(d *Due) uint64 {
	if p.tally != nil {
		return p.tally(d)
	}
	return p.ring.add(d)
}

func (p *pop) ask(n int, rule, key string) bool {
	return ask(p.nodes[n].Meter(rule), p.now, key, 1).Fits
}

// TestSmallLimitHoldsOverNodes: requests further apart than a flush that take turns among the nodes
// are admitted as if one node had seen them all, up to the resolution of the times told: never one
// more, never one less.
func TestSmallLimitHoldsOverNodes(t *testing.T) {
	edgetest.Alone(t)
	const limit = 5
	for _, window := range []time.Duration{2 * time.Second, 10 * time.Second, time.Minute} {
		for seed := range uint64(edgetest.Rounds(2, 5)) {
			p := newPop(4, Limit{Name: "r", Limit: limit, Window: window})
			rng := rand.New(rand.NewPCG(seed, 3))
			resolution := p.nodes[0].Meter("r").packing.period/timeParts + time.Millisecond
			short, long := NewLog(window-resolution, time.Microsecond),
				NewLog(window+testFlush, time.Microsecond)
			for n := range 2000 {
				p.until(p.now.Add(2*testFlush + time.Duration(rng.Int64N(int64(window)/6))))
				// until a node has met a key it knows less
				fits, met := p.ask(n%4, "r", "k"), p.now.Sub(start) > 2*window
				switch {
				case fits && met && short.Admitted(p.now) >= limit:
					t.Fatalf("window %v, seed %d, request %d: admitted on top of %d",
						window, seed, n, limit)
				case !fits && met && long.Admitted(p.now) < limit:
					t.Fatalf("window %v, seed %d, request %d: refused at %d", window, seed, n,
						long.Admitted(p.now))
				case fits:
					short.Admit(p.now, 1)
					long.Admit(p.now, 1)
				}
			}
		}
	}
}

// TestBelowTheLimitNothingIsLost: a client at 0.97 of a limit, of whom the nodes hear in lumps.
func TestBelowTheLimitNothingIsLost(t *testing.T) {
	edgetest.Alone(t)
	for _, l := range []Limit{
		{Name: "r", Limit: 10_000, Window: time.Second},
		{Name: "r", Limit: 100, Window: 10 * time.Second},
		{Name: "r", Limit: 3000, Window: 5 * time.Second},
		{Name: "r", Limit: 2_000_000, Window: time.Second},
	} {
		p := newPop(4, l)
		cost := max(1, l.Limit/10_000)
		gap := time.Duration(float64(l.Window) / (0.97 * float64(l.Limit/cost)))
		for n := range 60_000 {
			p.until(p.now.Add(gap))
			if !ask(p.nodes[n%4].Meter("r"), p.now, "k", cost).Fits {
				t.Fatalf("limit %d a %v: request %d was refused at 0.97 of it",
					l.Limit, l.Window, n)
			}
		}
	}
}

// TestWhatIsToldLastInAPeriodIsHeard: others tell the period that ends after this node's last look
// at it.
func TestWhatIsToldLastInAPeriodIsHeard(t *testing.T) {
	p := newPop(2, Limit{Name: "r", Limit: 5, Window: 10 * time.Second}) // periods of 2 s
	p.ask(0, "r", "k")
	p.ask(1, "r", "k")
	p.until(start.Add(1945 * time.Millisecond)) // node 1 has just looked
	// told at 2.000 s less nothing: make it the old period's
	p.ask(0, "r", "k")
	f := Flush{
		Now: start.Add(1999 * time.Millisecond), Interval: testFlush, Nodes: 2, Room: 100,
		Down: func(int) bool { return false },
	}
	dues, _ := p.nodes[0].Collect(f, nil, nil)
	for _, late := range []time.Duration{50, 150} { // the first look comes too early
		if late == 150 {
			for k := range dues {
				p.nodes[0].Merge(f, &dues[k], p.ring.add(&dues[k]), 0)
			}
		}
		p.now = start.Add(2*time.Second + late*time.Millisecond)
		for asked := p.asked; p.asked == asked; { // within stride flushes
			p.flush(1)
		}
	}
	m := p.nodes[1].Meter("r")
	if got := m.Evidence(p.now, m.Index([]byte("k"))).Admitted; got != 3 {
		t.Errorf("%d of 3 known", got)
	}
}

// TestMergeKeepsOrder: late cost stands where it belongs, and leaves the window in its time.
func TestMergeKeepsOrder(t *testing.T) {
	m := newPop(1, Limit{Name: "r", Limit: 50, Window: 10 * time.Second}).nodes[0].Meter("r")
	list, rng := marks{per: 1}, rand.New(rand.NewPCG(3, 4))
	for n := range 60 {
		m.insert(&list, []lump{{1000 + rng.Uint32N(500), 1 + int64(n%2)}}, 50)
	}
	var ticks []uint32
	list.each(m.c.arena, func(tick uint32) { ticks = append(ticks, tick) })
	if len(ticks) != 50 || !slices.IsSorted(ticks) || list.front != ticks[0] {
		t.Errorf("%d marks: %v", len(ticks), ticks)
	}
}

// over offers five times the limit, evenly over the nodes, and returns the most and the least
// admitted in a window from the second on.
func over(p *pop, l Limit, requests int, ask func(n int) bool) (most, least int64) {
	log, settled := NewLog(l.Window, time.Microsecond), start.Add(2*l.Window)
	least = l.Limit
	for n := range requests {
		p.until(p.now.Add(time.Duration(float64(l.Window) / (5 * float64(l.Limit)))))
		if ask(n % len(p.nodes)) {
			log.Admit(p.now, 1)
		}
		if p.now > settled {
			most, least = max(most, log.Admitted(p.now)), min(least, log.Admitted(p.now))
		}
	}
	return most, least
}

// TestTheCeilingAlone holds five times a limit near it; what is above is what all nodes admit
// before they hear of each other.
func TestTheCeilingAlone(t *testing.T) {
	edgetest.Alone(t)
	l := Limit{Name: "r", Limit: 100, Window: 10 * time.Second}
	p := newPop(4, l)
	most, least := over(p, l, 20_000, func(n int) bool { return p.ask(n, "r", "k") })
	if most > 110 || least < 95 { // 10 are offered in two flushes
		t.Errorf("%d to %d of %d admitted in a window", least, most, l.Limit)
	}
}

// TestServersThatAreDownAreLeftAlone, and their keys say where they live.
func TestServersThatAreDownAreLeftAlone(t *testing.T) {
	p := newPop(1, Limit{Name: "r", Limit: 100, Window: 10 * time.Second})
	c, m := p.nodes[0], p.nodes[0].Meter("r")
	hit := m.Offer(p.now, m.Index([]byte("k")), []byte("k"), 1, 0)
	m.Admit(p.now, hit, 1)
	if _, _, known := m.Server(hit); known {
		t.Error("nobody said yet where the key lives")
	}
	p.until(p.now.Add(testFlush))
	if server, _, known := m.Server(hit); !known || server != 0 {
		t.Errorf("server %d, %v", server, known)
	}
	for range 60 { // too much to wait
		p.ask(0, "r", "k")
	}
	f := Flush{
		Now: p.now, Interval: testFlush, Nodes: 1, Room: 100,
		Down: func(server int) bool { return server == 0 },
	}
	if dues, _ := c.Collect(f, nil, nil); len(dues) > 0 {
		t.Errorf("%d exchanges with a server that is down", len(dues))
	}
}

// TestReloadKeepsOrForgetsSync: a limit that counts otherwise begins anew with the ring.
func TestReloadKeepsOrForgetsSync(t *testing.T) {
	p := newPop(2, Limit{Name: "r", Limit: 1000, Window: 10 * time.Second})
	p.ask(0, "r", "k")
	p.until(p.now.Add(time.Second))
	c := p.nodes[0]
	at := c.table.find(c.Meter("r").Index([]byte("k")))
	c.Configure([]Limit{{Name: "r", Limit: 900, Window: 10 * time.Second, Shared: true}})
	if c.sync.all[at].merged == 0 {
		t.Error("a limit that is packed alike began anew")
	}
	c.Configure([]Limit{{Name: "r", Limit: 5000, Window: 10 * time.Second, Shared: true}})
	if c.sync.all[at] != (syncState{flags: rebase}) {
		t.Error("a limit that is packed otherwise went on with the old totals")
	}
}

func TestSyncStateIsACacheLine(t *testing.T) {
	if size := unsafe.Sizeof(syncState{}); size > 64 {
		t.Errorf("%d bytes", size)
	}
}

func TestSharingDoesNotAllocate(t *testing.T) {
	p := newPop(1, Limit{Name: "r", Limit: 100, Window: time.Second})
	key, m := []byte("k"), p.nodes[0].Meter("r")
	if n := testing.AllocsPerRun(1000, func() {
		m.Admit(p.now, m.Offer(p.now, m.Index(key), key, 1, 0), 1)
	}); n > 0 {
		t.Errorf("%v allocations a decision", n)
	}
}
