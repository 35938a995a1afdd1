package mitigation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
)

// watched returns a table of at least so many flags that somebody watches.
func watched(flags int) *Table {
	t := NewTable(flags * entryBytes)
	t.Watch()
	return t
}

// changed returns the changes, as kind and key.
func changed(t *Table) (all []string) {
	changes, lost := t.Changes()
	for _, c := range changes {
		all = append(all, [...]string{"set", "changed", "cleared"}[c.Kind]+" "+string(c.Flag.Key))
	}
	if lost > 0 {
		all = append(all, fmt.Sprintf("lost %d", lost))
	}
	return all
}

func checkChanged(t *testing.T, step string, table *Table, want ...string) {
	t.Helper()
	if got := changed(table); !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", step, got, want)
	}
}

func TestChanges(t *testing.T) {
	table := watched(100)
	f := flag(1, Shed, Ring, time.Minute)
	table.Put(now, f)
	checkChanged(t, "new", table, "set 1")
	checkChanged(t, "asked again", table)
	f.Until = f.Until.Add(time.Second)
	table.Put(now, f)
	checkChanged(t, "prolonged", table)
	f.Ratio = RatioStep - 1
	table.Put(now, f)
	checkChanged(t, "its ratio moved a little", table)
	f.Ratio += 1
	table.Put(now, f)
	checkChanged(t, "and a little more", table, "changed 1")
	f.Ratio += RatioStep / 2
	table.Put(now, f)
	f.Ratio -= RatioStep
	table.Put(now, f)
	checkChanged(t, "it sways around the noted ratio", table)
	f.Source, f.Action, f.Origin = Manual, Block, "kim"
	table.Put(now, f)
	checkChanged(t, "an operator", table, "changed 1")
	if table.Put(now, flag(1, Shed, Ring, time.Hour)) {
		t.Fatal("a lesser source")
	}
	checkChanged(t, "nothing was put", table)
	table.Lift(now, f.Index)
	table.Lift(now, f.Index)
	checkChanged(t, "lifted twice", table, "cleared 1")
	table.Put(now, flag(2, Shed, Self, time.Second))
	table.Put(now, flag(3, Shed, Self, time.Minute))
	table.Sweep(now.Add(time.Second), func(*Flag) bool { return true })
	checkChanged(t, "expired", table, "set 2", "set 3", "cleared 2")
	table.Put(now.Add(time.Hour), flag(3, Shed, Self, 2*time.Hour))
	checkChanged(t, "set anew before it was swept", table, "cleared 3", "set 3")
}

// TestChangesCarryTheFlag checks that a change carries the flag as it was then, whatever became of
// its place.
func TestChangesCarryTheFlag(t *testing.T) {
	table, f := watched(1), flag(1, Block, Manual, time.Minute)
	key := []byte("a key")
	f.Key, f.Reason, f.Origin = key, "because", "kim"
	table.Put(now, f)
	key[0] = 'X'
	table.Lift(now, f.Index)
	table.Put(now, flag(1, Shed, Self, time.Minute))
	changes, _ := table.Changes()
	for n := range 10 { // into the noted ones
		table.Put(now, flag(n, Shed, Self, time.Hour))
		table.Lift(now, flag(n, Shed, Self, 0).Index)
		table.Changes()
	}
	for n, c := range changes[:2] {
		if string(c.Flag.Key) != "a key" || c.Flag.Reason != "because" || c.Flag.Action != Block ||
			c.Flag.Until != f.Until {
			t.Errorf("change %d: %+v", n, c)
		}
	}
	if c := changes[2]; string(c.Flag.Key) != "1" || c.Kind != FlagSet || c.Flag.Action != Shed {
		t.Errorf("%+v", c)
	}
}

// TestChangesAreBounded checks that a flood of flags leaves room for an operator's, and that the
// others are counted.
func TestChangesAreBounded(t *testing.T) {
	const flood = 1000
	table := watched(2 * flood)
	for n := range flood {
		table.Put(now, flag(n, Shed, Self, time.Minute))
	}
	held := int(table.Stats().Flags)
	for n := range flood {
		table.Put(now, flag(flood+n, Block, Manual, time.Minute))
	}
	changes, lost := table.Changes()
	byHand := 0
	for _, c := range changes {
		if c.Flag.Source == Manual {
			byHand++
		}
	}
	if len(changes) != MaxChanges || byHand != manualChanges {
		t.Errorf("%d changes, %d by hand", len(changes), byHand)
	}
	if all := held + flood + int(table.Stats().Evicted); len(changes)+int(lost) < all {
		t.Errorf("%d noted and %d lost of %d", len(changes), lost, all)
	}
	if more, lost := table.Changes(); len(more) != 0 || lost != 0 {
		t.Errorf("%d and %d again", len(more), lost)
	}
}

// TestChangesAddUp plays random moves on a table that is often full: who follows the changes knows
// which flags there are.
func TestChangesAddUp(t *testing.T) {
	for seed := range uint64(50) {
		rng, table, at := rand.New(rand.NewPCG(seed, 2)), watched(16), now
		known := map[sketch.Index]Flag{}
		for range 500 {
			at = at.Add(time.Duration(rng.Int64N(int64(time.Second))))
			f := flag(rng.IntN(60), Action(rng.IntN(3)), Source(rng.IntN(4)), 0)
			f.Since, f.Until, f.Ratio = at,
				at.Add(time.Duration(rng.Int64N(int64(20*time.Second)))), Ratio(rng.Uint32())
			switch rng.IntN(8) {
			case 0:
				table.Lift(at, f.Index)
			case 1:
				table.Sweep(at, func(*Flag) bool { return rng.IntN(10) > 0 })
			default:
				table.Put(at, f)
			}
			follow(t, seed, table, known)
		}
		compareKnown(t, seed, table, at, known)
	}
}

// follow takes the changes over into known.
func follow(t *testing.T, seed uint64, table *Table, known map[sketch.Index]Flag) {
	t.Helper()
	changes, lost := table.Changes()
	for _, c := range changes {
		_, there := known[c.Flag.Index]
		if there == (c.Kind == FlagSet) || lost != 0 {
			t.Fatalf("seed %d: kind %d of a flag that is there: %v; %d lost", seed,
				c.Kind, there, lost)
		}
		if known[c.Flag.Index] = c.Flag; c.Kind == FlagCleared {
			delete(known, c.Flag.Index)
		}
	}
}

// compareKnown compares the followed flags to the table.
func compareKnown(
	t *testing.T, seed uint64, table *Table, at window.Instant, known map[sketch.Index]Flag,
) {
	t.Helper()
	table.Sweep(at, func(*Flag) bool { return true })
	follow(t, seed, table, known)
	live := table.Live(at)
	if len(live) != len(known) || len(live) == 0 {
		t.Fatalf("seed %d: %d flags, %d known", seed, len(live), len(known))
	}
	each := 0
	table.Each(at, func(*Flag) bool { each++; return true })
	if each != len(live) {
		t.Errorf("seed %d: %d flags by Each, %d there are", seed, each, len(live))
	}
	for _, is := range live {
		f := known[is.Index]
		if is.differsFrom(&f, is.Ratio) {
			t.Errorf("seed %d: %+v, known as %+v", seed, is, f)
		}
	}
}

// TestWatchedDoesNotAllocate checks that the decision path pays nothing for being watched.
func TestWatchedDoesNotAllocate(t *testing.T) {
	table, f, other := watched(100), flag(1, Shed, Self, time.Minute),
		flag(2, Shed, Self, time.Minute)
	n := testing.AllocsPerRun(1000, func() {
		table.TryPut(now, f)
		table.TryPut(now, other)
		table.Lift(now, other.Index)
	})
	if all, lost := table.Changes(); len(all) == 0 || lost == 0 {
		t.Errorf("%d changes, %d lost: nothing was measured", len(all), lost)
	}
	if n > 1 { // Lift's copy of the key
		t.Errorf("%v allocations", n)
	}
}
