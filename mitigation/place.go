package mitigation

import (
	"math/bits"

	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
)

// bucket returns the first place of the bucket a flag of i takes.
func (t *Table) bucket(i sketch.Index) int {
	b, _ := bits.Mul64(uint64(i), t.buckets)
	return int(b) * flagWays // below len(entries)
}

// second returns the first place of the other bucket a flag of i may take, if an operator set it.
// With two buckets to choose from, every override that may be held has a place at half of the
// table's capacity (Azar et al., Balanced Allocations, 1999); with a single bucket, a hundredth of
// them had none.
func (t *Table) second(i sketch.Index) int {
	// 2^64 divided by the golden ratio: another order of the same bits
	const golden64 = 0x9E3779B97F4A7C15
	b, _ := bits.Mul64(uint64(i)*golden64, t.buckets)
	return int(b) * flagWays
}

// seek returns the place in bucket that i has, or -1. Lock-free.
func (t *Table) seek(bucket int, i sketch.Index) int {
	for at := bucket; at < bucket+flagWays; at++ {
		if t.index[at].Load() == uint64(i) {
			return at
		}
	}
	return -1
}

// stray returns i's place in its second bucket, or -1. Lock-free.
func (t *Table) stray(i sketch.Index) int {
	if t.strays.Load() == 0 {
		return -1
	}
	return t.seek(t.second(i), i)
}

// find returns i's place in either bucket, or -1. Lock-free.
func (t *Table) find(i sketch.Index) int {
	if at := t.seek(t.bucket(i), i); at >= 0 {
		return at
	}
	return t.stray(i)
}

// place returns the place for f: that of its key's flag, a free or expired place, that of the
// strikes that are forgotten first, or that of the least valuable flag if f is worth more; else -1.
func (t *Table) place(now window.Instant, f *Flag) int {
	if at := t.find(f.Index); at >= 0 {
		return at
	}
	bucket, free, least, victim := t.choose(now, f), -1, f.value(), -1
	oldest, forget := -1, window.Instant(0)
	for at := bucket; at < bucket+flagWays; at++ {
		switch {
		case t.index[at].Load() == 0 || t.entries[at].flag.over(now):
			free = at
		case t.entries[at].flag.Until <= now:
			if is := t.entries[at].flag.Forget; oldest < 0 || is < forget {
				oldest, forget = at, is
			}
		case t.entries[at].flag.value() < least:
			least, victim = t.entries[at].flag.value(), at
		}
	}
	if free < 0 && oldest < 0 {
		if victim >= 0 {
			t.evicted++
		}
		return victim
	}
	if free < 0 {
		t.forgotten++
		return oldest
	}
	return free
}

// choose returns the bucket for a new flag: the first, unless half of it is held by operators'
// flags, f is such a flag, and the second holds fewer.
func (t *Table) choose(now window.Instant, f *Flag) int {
	bucket := t.bucket(f.Index)
	if f.Source != Manual {
		return bucket
	}
	if n := t.manual(now, bucket); n >= flagWays/2 {
		if second := t.second(f.Index); t.manual(now, second) < n {
			return second
		}
	}
	return bucket
}

// manual returns how many live flags of a bucket are an operator's.
func (t *Table) manual(now window.Instant, bucket int) (n int) {
	for at := bucket; at < bucket+flagWays; at++ {
		if f := &t.entries[at].flag; t.index[at].Load() != 0 &&
			f.Source == Manual && f.Until > now {
			n++
		}
	}
	return n
}

// assign gives a place to i, or to nobody if i is 0. The caller holds the lock.
func (t *Table) assign(at int, i sketch.Index) {
	was := sketch.Index(t.index[at].Load())
	if i != 0 && !t.within(at, t.bucket(i)) {
		t.strays.Add(1) // before the place can be found, so it is looked for
	}
	t.index[at].Store(uint64(i))
	if was != 0 && !t.within(at, t.bucket(was)) {
		t.strays.Add(-1)
	}
}

// within reports whether a place is a bucket's.
func (t *Table) within(at, bucket int) bool { return at >= bucket && at < bucket+flagWays }
