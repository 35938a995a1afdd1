package counts_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/counts"
	"github.com/headgate-dev/headgate/window"
)

const began = window.Instant(1_750_000_000_000_000_000)

// known returns what t knows of d, with a window of 10 s, by origin.
func known(
	t *counts.Table, now window.Instant, d counts.Digest, running uint32,
) map[uint8]counts.State {
	all := map[uint8]counts.State{}
	t.Each(now, d, running, 10*time.Second, func(s counts.State) { all[s.Origin] = s })
	return all
}

// TestTableRemembers: what each origin admitted of a key, until it has left the window.
func TestTableRemembers(t *testing.T) {
	table, d := counts.NewTable(1024), counts.Digest(0xfeedbeef_12345678)
	one := counts.State{
		Origin: 1, Period: 875_000_002,
		By:    [window.Periods]uint8{3, 0, 63, 1, 0, 7},
		Means: [window.Periods]uint8{37, 127, 15, 16, 0, 112},
	}
	two := counts.State{
		Origin: 2, Period: 875_000_000, By: [window.Periods]uint8{1, 255, 3},
		Means: [window.Periods]uint8{124},
	}
	table.Put(began, d, &counts.State{Origin: 1, Period: 874_999_999})
	table.Put(began, d, &two)
	table.Put(began, d, &one)
	table.Put(began, d+1<<40, &counts.State{Origin: 3, Period: 875_000_002})
	got := known(table, began, d, 875_000_003)
	one.Means, two.By = [window.Periods]uint8{36, 112, 0, 16, 0, 112}, [window.Periods]uint8{0, 252}
	for n, want := range map[uint8]counts.State{1: one, 2: two} {
		if is := got[n]; len(got) != 2 || is.Period != want.Period || is.By != want.By ||
			is.Means != want.Means {
			t.Errorf("the table knows %+v, want %+v", is, want)
		}
	}
	if got := known(table, began, d, 875_000_007); len(got) != 1 {
		t.Errorf("five periods later the table knows %+v", got)
	}
	if got := known(table, began.Add(2*time.Hour), d, 875_000_003); len(got) != 0 {
		t.Errorf("two hours later, at a time of the same number, the table knows %+v", got)
	}
	table.Forget(0)
	if got := known(table, began, d, 875_000_003); len(got) != 0 {
		t.Errorf("an empty table knows %+v", got)
	}
}

// TestTableDisplacesTheOldest: of seventeen origins of one key the one that was silent for longest
// is forgotten, and counted.
func TestTableDisplacesTheOldest(t *testing.T) {
	table, d := counts.NewTable(64), counts.Digest(1<<63)
	for n := range 17 {
		table.Put(began.Add(time.Duration(n)*30*time.Minute), d,
			&counts.State{Origin: uint8(n + 1), Period: 100})
	}
	all := map[uint8]bool{}
	table.Each(began.Add(9*time.Hour), d, 100, 24*time.Hour,
		func(s counts.State) { all[s.Origin] = true })
	if len(all) != 16 || all[1] || table.Evicted() != 1 {
		t.Errorf("the table knows %v, %d displaced", all, table.Evicted())
	}
}

// TestTableSweeps: what is older than any window goes, before a stamp can mean two times.
func TestTableSweeps(t *testing.T) {
	const round = 64 * 30 * time.Minute
	table, d := counts.NewTable(4096), counts.Digest(1<<62)
	table.Put(began, d, &counts.State{Origin: 1, Period: 100})
	if got := known(table, began.Add(round), d, 100); len(got) != 1 {
		t.Fatalf("without a sweep, after %v the table knows %v", round, got)
	}
	for hours := range 30 {
		for range 256 {
			table.Sweep(began.Add(time.Duration(hours) * time.Hour))
		}
		if got := known(table, began, d, 100); hours < 24 && len(got) != 1 {
			t.Errorf("what is %d h old is forgotten", hours)
		}
	}
	if got := known(table, began.Add(round), d, 100); len(got) != 0 {
		t.Errorf("after %v the table knows %v", round, got)
	}
}

// TestTableIsOneMegabyte: and a lookup allocates nothing.
func TestTableIsOneMegabyte(t *testing.T) {
	table := counts.NewTable(counts.EntriesFor(8 << 20))
	if got := counts.EntriesFor(8<<20) * counts.EntryBytes; got != 1<<20 {
		t.Errorf("the table takes %d bytes", got)
	}
	sum := 0
	table.SetSecret([]byte("secret"))
	table.Put(began, 7, &counts.State{Origin: 1, Period: 5, By: [window.Periods]uint8{1}})
	q := counts.Query{Now: began, Rule: "r", Limit: 5, Window: 10 * time.Second, Key: []byte("k")}
	table.Put(began, table.Digest("r", q.Key),
		&counts.State{Origin: 1, Period: uint32(began / 2e9), By: [window.Periods]uint8{5}})
	if n := testing.AllocsPerRun(100, func() {
		table.Each(began, 7, 5, time.Second, func(s counts.State) { sum += int(s.By[0]) })
		if table.UsedUp(&q) == 0 {
			sum = -1 << 40
		}
	}); n != 0 || sum <= 0 {
		t.Errorf("a lookup costs %v allocations", n)
	}
}

// TestUsedUp: a key is used up when all origins together admitted its limit in periods that are
// within the window, and until so much of it can have left that something fits.
func TestUsedUp(t *testing.T) {
	table := counts.NewTable(64)
	q := counts.Query{
		Now: began.Add(500 * time.Millisecond), Wall: time.Hour, Rule: "r", Limit: 5,
		Window: 10 * time.Second, Key: []byte("k"),
	}
	if got := table.UsedUp(&q); got != 0 {
		t.Errorf("without a secret a key is used up until %v", got)
	}
	table.SetSecret([]byte("secret"))
	d, running := table.Digest("r", q.Key),
		uint32((int64(began)+int64(time.Hour))/int64(2*time.Second))
	steps := []struct {
		state counts.State
		until time.Duration // after began
	}{
		{counts.State{Origin: 1, Period: running, By: [window.Periods]uint8{1, 0, 0, 0, 0, 9}}, 0},
		{counts.State{Origin: 2, Period: running - 1, By: [window.Periods]uint8{2, 0, 0, 1}}, 0},
		{counts.State{Origin: 3, Period: running, By: [window.Periods]uint8{1}}, 2 * time.Second},
		{counts.State{Origin: 3, Period: running, By: [window.Periods]uint8{2}}, 8 * time.Second},
		{counts.State{Origin: 3, Period: running, By: [window.Periods]uint8{4}}, 10 * time.Second},
	}
	for n, step := range steps {
		table.Put(q.Now, d, &step.state)
		want := began.Add(step.until)
		if step.until == 0 {
			want = 0
		}
		if got := table.UsedUp(&q); got != want {
			t.Errorf("step %d: used up until %v, want %v", n, got.Sub(began), step.until)
		}
	}
}

// TestOneAdmissionIsWhereItsMeanIs: the only admission of an origin in a period is in the window
// until its moment, rounded down, has left it; several may have been at the period's beginning.
func TestOneAdmissionIsWhereItsMeanIs(t *testing.T) {
	running := uint32(int64(began) / int64(2*time.Second))
	for _, c := range []struct {
		units  uint8
		at     time.Duration // of the question, after the running period began
		leaves time.Duration // likewise; 0: it has
	}{{1, 0, time.Second}, {1, 999 * time.Millisecond, time.Second}, {1, time.Second, 0}, {
		2, 0,
		0,
	}} {
		table := counts.NewTable(64)
		table.SetSecret([]byte("secret"))
		q := counts.Query{
			Now: began.Add(c.at), Rule: "r", Limit: int64(c.units),
			Window: 10 * time.Second, Key: []byte("k"),
		}
		table.Put(began, table.Digest("r", q.Key),
			&counts.State{
				Origin: 1, Period: running - 5, By: [window.Periods]uint8{c.units},
				Means: [window.Periods]uint8{64},
			})
		want := window.Instant(0)
		if c.leaves > 0 {
			want = began.Add(c.leaves)
		}
		if got := table.UsedUp(&q); got != want {
			t.Errorf("%+v: used up until %v after", c, got.Sub(began))
		}
	}
}

// TestTableIsReadWhileWritten: a reader finds whole entries.
func TestTableIsReadWhileWritten(t *testing.T) {
	table := counts.NewTable(16)
	var group sync.WaitGroup
	stop := make(chan struct{})
	for reader := range 2 {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				for d := range counts.Digest(4) {
					table.Each(began, d<<40|1, 200, 10*time.Second, func(s counts.State) {
						if s.By[0] != s.By[5] || s.By[0] != s.Origin {
							panic(fmt.Sprint(reader, s))
						}
					})
				}
			}
		})
	}
	for n := range 50_000 {
		o := uint8(n%16 + 1)
		table.Put(began, counts.Digest(n%4)<<40|1,
			&counts.State{Origin: o, Period: 200, By: [window.Periods]uint8{o, 0, 0, 0, 0, o}})
	}
	close(stop)
	group.Wait()
}
