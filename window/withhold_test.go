package window

import (
	"testing"
	"time"
)

// withheld has cost 1 of key withheld under m, and returns the question.
func withheld(now Instant, key string, m *Meter, leaves int64, patience time.Duration) Question {
	i := m.Index([]byte(key))
	all := []Question{{
		Meter: m, Hit: m.Offer(now, i, []byte(key), 1, 7), Cost: 1, Judges: true, Counts: true,
		Leaves: leaves, Patience: patience,
	}}
	WithholdAll(now, all)
	return all[0]
}

// What is withheld was offered, and is neither admitted nor, where it would have fitted, refused by
// this limit.
func TestWithheldIsOffered(t *testing.T) {
	m := newTestCounter(t, 8<<20, Limit{Name: "r", Limit: 3, Window: time.Minute}).Meter("r")
	i := m.Index([]byte("a"))
	together(start, "a", m)
	for k := range int64(6) {
		if q := withheld(start, "a", m, 0, 0); !q.Count.Fits || q.Count.Used != 1 ||
			q.Kept || !q.Count.Exact {
			t.Fatalf("withheld %d: %+v", k, q.Count)
		}
	}
	if got := m.Offered(start, i); got != 7 {
		t.Errorf("offered %d, want 7", got)
	}
	if _, refused := m.Keys(); refused > 0.5 {
		t.Errorf("%v keys are refused; none is", refused)
	}
	if q := withheld(start, "a", m, 2, 0); q.Count.Fits || !q.Kept {
		t.Errorf("two of three are kept for others, one is used: %+v", q)
	}
	for range 2 {
		together(start, "a", m)
	}
	if q := withheld(start, "a", m, 0, 0); q.Count.Fits || q.Kept ||
		q.Count.Used != 3 || q.Count.Wait <= 0 {
		t.Errorf("full: %+v", q)
	}
	if got := m.Offered(start, i); got != 11 {
		t.Errorf("offered %d, want 11", got)
	}
}

// Denials of a full key are counted in one word, as those of single questions are, and recorded
// when there are enough.
func TestWithheldFolds(t *testing.T) {
	m := newTestCounter(t, 8<<20, Limit{Name: "r", Limit: 100, Window: time.Minute}).Meter("r")
	ask(m, start, "a", 100)
	for n := range 3 * int64(mostFolded) {
		q := withheld(start, "a", m, 0, 0)
		recorded, folded := refusedOf(m, "a", start)
		if c := q.Count; c.Fits || c.Used != 100 || c.Wait <= 0 || recorded+folded != n+1 ||
			c.Folded != (folded > 0) || n == 1 && folded != 1 {
			t.Fatalf("denial %d: %+v, %d recorded, %d folded", n, c, recorded, folded)
		}
	}
	if got, want := m.Offered(start, m.Index([]byte("a"))), int64(100+3*mostFolded); got != want {
		t.Errorf("%d offered, want %d", got, want)
	}
}

// A bucket that is empty fits what may wait, withheld as well.
func TestWithheldMayWait(t *testing.T) {
	m := newTestCounter(t, 8<<20,
		Limit{Name: "r", Limit: 60, Window: time.Minute, Burst: 2, Delay: time.Minute}).Meter("r")
	together(start, "a", m, m)
	for _, c := range []struct {
		patience time.Duration
		fits     bool
	}{{0, false}, {time.Millisecond, false}, {2 * time.Second, true}} {
		if q := withheld(start, "a", m, 0, c.patience); q.Count.Fits != c.fits {
			t.Errorf("patience %v: %+v", c.patience, q.Count)
		}
	}
}

// Where denials count, so do those that are withheld.
func TestWithheldCountsWhereDenialsDo(t *testing.T) {
	m := newTestCounter(t, 8<<20,
		Limit{Name: "r", Limit: 2, Window: time.Minute, CountDenied: true}).Meter("r")
	together(start, "a", m)
	together(start, "a", m)
	later := start.Add(40 * time.Second)
	if q := withheld(later, "a", m, 0, 0); q.Count.Fits {
		t.Fatalf("%+v", q)
	}
	if q := withheld(later.Add(30*time.Second), "a", m, 0, 0); q.Count.Used != 1 {
		t.Errorf("the denial counts 30 s later: %+v", q.Count)
	}
}

// A key without a slot is judged by the sketch, and one whose slot is another's by now is counted
// there.
func TestWithheldWithoutASlot(t *testing.T) {
	m := newTestCounter(t, 8<<20, Limit{Name: "r", Limit: 2, Window: time.Minute}).Meter("r")
	i := m.Index([]byte("a"))
	hit := m.Offer(start, i, []byte("a"), 1, 7)
	m.c.table.slots[hit.at].index.Store(uint64(i) + 1)
	all := []Question{{Meter: m, Hit: hit, Cost: 1, Judges: true, Counts: true}}
	WithholdAll(start, all)
	if got := m.layer.sketch.Count(i, m.layer.span.Number(start)); !all[0].Count.Fits ||
		all[0].Count.Exact || got != 1 {
		t.Errorf("in the sketch: %d, want 1: %+v", got, all[0].Count)
	}
	all[0].Hit, all[0].Cost = Hit{index: i, at: noSlot}, 3
	WithholdAll(start, all)
	if _, refused := m.Keys(); all[0].Count.Fits ||
		all[0].Count.Wait != time.Minute || refused < 0.5 {
		t.Errorf("more than the limit: %+v, %v refused", all[0].Count, refused)
	}
}
