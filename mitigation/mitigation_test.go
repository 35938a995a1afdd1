package mitigation

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
)

const now = window.Instant(1_700_000_000_000_000_000)

func flag(i int, a Action, s Source, lasts time.Duration) Flag {
	return Flag{
		Index: sketch.Index(uint64(i+1) * 0x9e3779b97f4a7c15), Rule: "r", Key: fmt.Append(nil, i),
		Action: a, Source: s, Since: now, Until: now.Add(lasts),
	}
}

func TestByFlag(t *testing.T) {
	half := RatioFor(200, 100)
	const low, high = 0x7fffffff << 32, 0x80000000 << 32
	for _, c := range []struct {
		name   string
		effect Effect
		u      uint64
		ruling Ruling
		why    Why
	}{
		{"none", Effect{}, 0, AskCount, Unrefused},
		{"expired block", Effect{Action: Block}, 0, AskCount, Unrefused},
		{"allow", Effect{Until: 1, Action: Allow, Ratio: MaxRatio}, 0, LetPass, Unrefused},
		{"block", Effect{Until: 1, Action: Block}, high, Stop, ByBlock},
		{"shed, drawn out", Effect{Until: 1, Ratio: half}, low, Stop, ByShed},
		{"shed, drawn in", Effect{Until: 1, Ratio: half}, high, AskCount, Unrefused},
		{"shed, no ratio", Effect{Until: 1}, 0, AskCount, Unrefused},
	} {
		if ruling, why := ByFlag(c.effect, c.u); ruling != c.ruling || why != c.why {
			t.Errorf("%s: %d %q, want %d %q", c.name, ruling, why, c.ruling, c.why)
		}
	}
}

func TestJudge(t *testing.T) {
	for mode, want := range map[Mode][2]Verdict{
		Enforce: {{}, {Deny: true, Why: ByLimit}},
		Shadow:  {{}, {Shadow: true, Why: ByLimit}},
		Off:     {{}, {Why: ByLimit}},
	} {
		r := Rule{Mode: mode}
		if got := [2]Verdict{Judge(&r, Unrefused), Judge(&r, ByLimit)}; got != want {
			t.Errorf("%v: %+v, want %+v", mode, got, want)
		}
	}
}

func TestRatio(t *testing.T) {
	for _, c := range []struct{ offered, limit, want float64 }{
		{50, 100, 0},
		{100, 100, 0},
		{200, 100, 0.5},
		{1000, 1, 0.999},
		{1e9, 1, 1 - 1e-9},
		{5, 0, 1},
	} {
		if got := RatioFor(c.offered, c.limit).Float(); got < c.want-1e-9 || got > c.want+1e-9 {
			t.Errorf("RatioFor(%v, %v) = %v, want %v", c.offered, c.limit, got, c.want)
		}
	}
	const n = 1_000_000
	rng := rand.New(rand.NewPCG(1, 2))
	for _, share := range []float64{0.001, 0.1, 0.5, 0.83, 0.999} {
		r, dropped := RatioFor(1, 1-share), 0
		for range n {
			if r.Drops(rng.Uint64()) {
				dropped++
			}
		}
		got := float64(dropped) / n
		if sigma := 0.0005; got < share-4*sigma || got > share+4*sigma {
			t.Errorf("ratio %v dropped %v", share, got)
		}
	}
}

func TestTableAnswersUntilExpiry(t *testing.T) {
	table := NewTable(1 << 20)
	f := flag(1, Block, Self, time.Minute)
	if table.Get(now, f.Index).Live() {
		t.Error("an empty table has a flag")
	}
	if !table.Put(now, f) || table.Put(now, f) {
		t.Error("a new flag is news, the same again is not")
	}
	if e := table.Get(now, f.Index); !e.Live() || e.Action != Block || e.Until != f.Until {
		t.Errorf("%+v", e)
	}
	if table.Get(now, f.Index+1).Live() {
		t.Error("another key's flag was answered")
	}
	if table.Get(f.Until, f.Index).Live() {
		t.Error("a flag lives at the instant it expires")
	}
	table.Sweep(f.Until, func(*Flag) bool { return true })
	if s := table.Stats(); s.Flags != 0 || s.Expired != 1 {
		t.Errorf("%+v", s)
	}
}

func TestOperatorOverrulesSelf(t *testing.T) {
	table := NewTable(1 << 20)
	allow := flag(1, Allow, Manual, time.Minute)
	table.Put(now, allow)
	if table.Put(now, flag(1, Block, Self, time.Hour)) {
		t.Error("the node overruled the operator")
	}
	if !table.Put(now, flag(1, Block, Manual, time.Second)) {
		t.Error("an operator may change their mind")
	}
	if e := table.Get(now, allow.Index); e.Action != Block {
		t.Errorf("%+v", e)
	}
	if !table.Put(now.Add(2*time.Second), flag(1, Block, Self, time.Hour)) {
		t.Error("an expired flag overrules nobody")
	}
	if was, live := table.Lift(now, allow.Index); !live || was.Source != Self ||
		table.Get(now, allow.Index).Live() {
		t.Errorf("lifted %+v %v", was, live)
	}
	if _, live := table.Lift(now, allow.Index); live {
		t.Error("lifted twice")
	}
}

func TestExtendingKeepsSince(t *testing.T) {
	table := NewTable(1 << 20)
	table.Put(now, flag(1, Shed, Self, time.Minute))
	later := flag(1, Shed, Self, time.Hour)
	later.Since = now.Add(time.Second)
	table.Put(now.Add(time.Second), later)
	if f, ok := table.Find(now, later.Index); !ok || f.Since != now || f.Until != later.Until {
		t.Errorf("%+v", f)
	}
}

// TestFullTableKeepsTheMostValuable fills a bucket: an operator's flag stays, the least valuable
// one goes.
func TestFullTableKeepsTheMostValuable(t *testing.T) {
	table := NewTable(1) // one bucket
	for n := range flagWays - 1 {
		table.Put(now, flag(n, Shed, Self, time.Duration(n+1)*time.Minute))
	}
	manual := flag(100, Allow, Manual, time.Second)
	table.Put(now, manual)
	block := flag(101, Block, Self, time.Second)
	if !table.Put(now, block) {
		t.Fatal("a block found no place among sheds")
	}
	if table.Get(now, flag(0, Shed, Self, 0).Index).Live() {
		t.Error("the shed that ends first should have gone")
	}
	if !table.Get(now, manual.Index).Live() || !table.Get(now, block.Index).Live() {
		t.Error("the worthy went")
	}
	if table.Put(now, flag(102, Shed, Self, time.Millisecond)) {
		t.Error("a flag worth less than all others found a place")
	}
	if s := table.Stats(); s.Evicted != 1 || s.Full != 1 || s.Flags != flagWays {
		t.Errorf("%+v", s)
	}
}

// TestTableAgainstModel plays random moves against a plain map.
func TestTableAgainstModel(t *testing.T) {
	for seed := range uint64(50) {
		rng, table, model, at := rand.New(rand.NewPCG(seed, 1)), NewTable(1<<20),
			map[sketch.Index]Flag{}, now
		for range 500 {
			at = at.Add(time.Duration(rng.Int64N(int64(time.Second))))
			f := flag(rng.IntN(40), Action(rng.IntN(3)), Source(rng.IntN(2)), 0)
			f.Since, f.Until = at, at.Add(time.Duration(1+rng.Int64N(int64(time.Minute))))
			is, live := model[f.Index]
			live = live && is.Until > at
			switch rng.IntN(4) {
			case 0:
				if _, ok := table.Lift(at, f.Index); ok != live {
					t.Fatalf("seed %d: lifted %v, want %v", seed, ok, live)
				}
				delete(model, f.Index)
			default:
				news := !live || f.Source > is.Source ||
					f.Source == is.Source && (f.Action != is.Action || f.Until > is.Until)
				if got := table.Put(at, f); got != news {
					t.Fatalf("seed %d: news %v, want %v: %+v over %+v", seed, got, news, f, is)
				}
				if news {
					model[f.Index] = f
				}
			}
			want, got := model[f.Index], table.Get(at, f.Index)
			if got.Live() != (want.Until > at) ||
				got.Live() && (got.Action != want.Action || got.Until != want.Until) {
				t.Fatalf("seed %d: %+v, want %+v", seed, got, want)
			}
		}
		alive := 0
		for _, f := range model {
			if f.Until > at {
				alive++
			}
		}
		if got := len(table.Live(at)); got != alive {
			t.Fatalf("seed %d: %d flags listed, want %d", seed, got, alive)
		}
	}
}

// TestReadersSeeWholeFlags lets readers run against a writer that alternates two flags in one
// place.
func TestReadersSeeWholeFlags(t *testing.T) {
	table := NewTable(1)
	block, allow := flag(1, Block, Manual, time.Minute), flag(1, Allow, Manual, time.Hour)
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if e := table.Get(now, block.Index); e.Live() &&
					(e.Action == Block) != (e.Until == block.Until) {
					t.Errorf("half a flag: %+v", e)
					return
				}
			}
		})
	}
	for n := range 20_000 {
		table.Put(now, []Flag{block, allow}[n%2])
		if n%100 == 0 {
			table.Lift(now, block.Index)
		}
	}
	close(done)
	wg.Wait()
}

func TestDecidingDoesNotAllocate(t *testing.T) {
	table, f := NewTable(1<<20), flag(1, Shed, Self, time.Minute)
	n := testing.AllocsPerRun(1000, func() {
		f.Until++
		table.TryPut(now, f)
		_, _ = ByFlag(table.Get(now, f.Index), 1)
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestNamesRoundTrip(t *testing.T) {
	for _, m := range []Mode{Enforce, Shadow, Off} {
		if got, ok := ParseMode(m.String()); !ok || got != m {
			t.Errorf("%v: %v %v", m, got, ok)
		}
	}
	if _, ok := ParseMode("enforced"); ok {
		t.Error("a mode that is none")
	}
}

func FuzzTable(f *testing.F) {
	f.Add([]byte{1, 2, 3, 200, 100, 7})
	f.Fuzz(func(t *testing.T, moves []byte) {
		table, at := NewTable(1), now
		for _, m := range moves {
			at = at.Add(time.Duration(m%4) * time.Second)
			x := flag(int(m), Action(m%3), Source(m%2), 0)
			x.Until = at.Add(time.Duration(m) * time.Second)
			table.Put(at, x)
			if s := table.Stats(); s.Flags > s.Capacity || len(table.Live(at)) > flagWays {
				t.Fatalf("%+v", s)
			}
		}
	})
}

func ExampleRatioFor() {
	fmt.Printf("%.2f of 5,000 a second must go for 1,000 to get through\n",
		RatioFor(5000, 1000).Float())
	// Output: 0.80 of 5,000 a second must go for 1,000 to get through
}
