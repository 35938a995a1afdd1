package mitigation

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/sketch"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

// overrides is how many overrides a node may hold (override.MaxHeld).
const overrides = 4096

// manualFlags returns as many operators' flags as may be held, of keys drawn at random. They end
// over an hour, each a little after the one before.
func manualFlags(rng *rand.Rand) (all []Flag) {
	for n := range overrides {
		f := flag(n, Block, Manual, time.Hour*time.Duration(n+1)/overrides)
		f.Index = sketch.Index(rng.Uint64())
		all = append(all, f)
	}
	return all
}

// strayed counts the places that are outside the first bucket of their keys.
func (t *Table) strayed() (n int64) {
	for at := range t.entries {
		if i := sketch.Index(t.index[at].Load()); i != 0 && !t.within(at, t.bucket(i)) {
			n++
		}
	}
	return n
}

// TestEveryOverrideHasAPlace: in a table of twice as many places every override that may be held
// has one, also beside nodes' own flags, and a place that has become free is nobody's.
func TestEveryOverrideHasAPlace(t *testing.T) {
	edgetest.Alone(t)
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		table := NewTable(2 * overrides * entryBytes)
		for n := range 2 * overrides {
			f := flag(n, Shed, Self, time.Minute)
			f.Index = sketch.Index(rng.Uint64())
			table.Put(now, f)
		}
		all := manualFlags(rng)
		for n := range all {
			if !table.Put(now, all[n]) {
				t.Fatalf("seed %d: override %d has no place", seed, n)
			}
		}
		for n := range all {
			if e := table.Get(now, all[n].Index); e.Action != Block {
				t.Errorf("seed %d: override %d does not hold: %+v", seed, n, e)
			}
			if f, live := table.Find(now, all[n].Index); !live || f.Source != Manual {
				t.Errorf("seed %d: override %d is not found: %+v", seed, n, f)
			}
		}
		if is := table.strays.Load(); is == 0 || is != table.strayed() {
			t.Errorf("seed %d: %d strays are counted of %d", seed, is, table.strayed())
		}
		half := now.Add(time.Hour / 2)
		table.Sweep(half, func(*Flag) bool { return true })
		if is := table.strays.Load(); is == 0 || is != table.strayed() {
			t.Errorf("seed %d: after a sweep %d strays are counted of %d", seed,
				is, table.strayed())
		}
		for n := range all {
			if _, live := table.Lift(half, all[n].Index); live != (n >= overrides/2) {
				t.Errorf("seed %d: override %d lived %v", seed, n, live)
			}
		}
		if s := table.Stats(); s.Flags != 0 || table.strays.Load() != 0 {
			t.Errorf("seed %d: %d flags and %d strays are left", seed, s.Flags, table.strays.Load())
		}
	}
}

// TestAStrayKeepsItsPlace: a key whose flag is in its second bucket is changed, struck and
// remembered there, and never has two flags.
func TestAStrayKeepsItsPlace(t *testing.T) {
	table := NewTable(2 * flagWays * entryBytes)
	rng := rand.New(rand.NewPCG(3, 1))
	f := flag(0, Block, Manual, time.Minute)
	for table.strays.Load() == 0 {
		f.Index = sketch.Index(rng.Uint64())
		if !table.Put(now, f) {
			t.Fatal("the table filled up without a stray")
		}
	}
	flags := table.Stats().Flags
	f.Action = Allow
	if !table.Put(now, f) || table.Get(now, f.Index).Action != Allow ||
		table.Stats().Flags != flags {
		t.Errorf("%+v of %d flags", table.Get(now, f.Index), table.Stats().Flags)
	}
	later := now.Add(2 * time.Minute)
	f.Until, f.Source = later.Add(time.Minute), Self
	if !table.Put(later, f) || table.Stats().Flags != flags {
		t.Errorf("%d flags, want %d", table.Stats().Flags, flags)
	}
	f.Strikes, f.Forget = 2, later.Add(time.Hour)
	if !table.Remember(later, f) {
		t.Error("the strikes had no place")
	}
	if strikes, forget := table.Strikes(later, f.Index); strikes != 2 || forget != f.Forget {
		t.Errorf("%d strikes until %v", strikes, forget)
	}
}
