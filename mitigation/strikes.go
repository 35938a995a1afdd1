package mitigation

import (
	"math"
	"time"

	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
)

// The strikes of a key are the blocks it had by its rule's ladder. They stand in the flag while it
// blocks, and keep its place afterwards until they are forgotten, or another flag needs it.
//
//	PutBlock ──► a block ──Until──► retired: the strikes alone ──Forget──► free
//	                ▲                      │
//	                └── the next block: one step up

// PutBlock is Put for a block by r's ladder: the time from f.Since is that of the key's next step,
// unless f.Until is given. A rule without a ladder has every block last its BlockFor.
func (t *Table) PutBlock(now window.Instant, f Flag, r *Rule) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.putBlock(now, f, r)
}

// TryPutBlock is PutBlock for the decision path: it does nothing while another goroutine writes.
func (t *Table) TryPutBlock(now window.Instant, f Flag, r *Rule) bool {
	if !t.mu.TryLock() {
		return false
	}
	defer t.mu.Unlock()
	return t.putBlock(now, f, r)
}

func (t *Table) putBlock(now window.Instant, f Flag, r *Rule) bool {
	f.Action = Block
	if len(r.Ladder.Steps) > 0 {
		return t.put(now, f, &r.Ladder)
	}
	if f.Until == 0 {
		f.Until = f.Since.Add(r.BlockFor)
	}
	return t.put(now, f, nil)
}

// Renew moves the end of i's block by r from until to a step of the block from now, and returns the
// time left. Blocks by people stay. Nothing moves by less than a 256th of BlockFor, or while
// another goroutine writes: the next request tries again.
func (t *Table) Renew(
	now window.Instant, i sketch.Index, r *Rule, until window.Instant,
) time.Duration {
	left := until.Sub(now)
	if len(r.Ladder.Steps) == 0 && r.BlockFor-left < r.BlockFor/256 || !t.mu.TryLock() {
		return left
	}
	defer t.mu.Unlock()
	at := t.find(i)
	if at < 0 {
		return left
	}
	e := &t.entries[at]
	f := &e.flag
	if f.Action != Block || f.Source == Manual || f.Until <= now {
		return left
	}
	step := r.BlockFor
	if len(r.Ladder.Steps) > 0 {
		step = r.Ladder.step(max(int(f.Strikes), 1))
		f.Forget = now.Add(step + r.Ladder.Forget)
	}
	f.Until = now.Add(step)
	e.until.Store(int64(f.Until)) // a single word: a reader sees the old end or the new one
	return step
}

// over reports whether nothing of f matters any more at now.
func (f *Flag) over(now window.Instant) bool { return f.Until <= now && f.Forget <= now }

// climb gives f the strikes of its key's entry, if mine says that e is that entry: another for a
// new block by a ladder. The caller holds the table's lock.
func (e *entry) climb(now window.Instant, mine bool, f *Flag, l *Ladder) {
	before, forget := uint8(0), window.Instant(0)
	if mine && e.flag.Forget > now {
		before, forget = e.flag.Strikes, e.flag.Forget
	}
	if l == nil {
		if f.Forget == 0 {
			f.Strikes, f.Forget = before, forget
		}
		return
	}
	f.Strikes = before
	if goesOn := mine && e.flag.Until > now && e.flag.Action == Block && before > 0; !goesOn &&
		before < math.MaxUint8 {
		f.Strikes++
	}
	if f.Until == 0 {
		f.Until = f.Since.Add(l.step(int(f.Strikes)))
	}
	f.Forget = f.Until.Add(l.Forget)
}

// Strikes returns how many strikes i has at now, and when they are forgotten.
func (t *Table) Strikes(now window.Instant, i sketch.Index) (strikes int, forget window.Instant) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at := t.find(i); at >= 0 && t.entries[at].flag.Forget > now {
		return int(t.entries[at].flag.Strikes), t.entries[at].flag.Forget
	}
	return 0, 0
}

// Struck returns a copy of every entry with strikes at now, of flags that have ended too.
func (t *Table) Struck(now window.Instant) (all []Flag) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for at := range t.entries {
		if t.index[at].Load() != 0 && t.entries[at].flag.Forget > now {
			all = append(all, t.entries[at].flag.Clone())
		}
	}
	return all
}

// Remember gives the key of f its Strikes until f.Forget, as they were before a restart: to its
// flag, if any. It reports whether there was room.
func (t *Table) Remember(now window.Instant, f Flag) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.place(now, &f)
	if at < 0 || f.Forget <= now || f.Strikes == 0 {
		return false
	}
	e := &t.entries[at]
	if t.index[at].Load() == uint64(f.Index) && e.flag.Until > now {
		e.flag.Strikes, e.flag.Forget = f.Strikes, f.Forget
		return true
	}
	if t.index[at].Load() != 0 && e.flag.Until > now {
		return false // a live flag of another key is worth more
	}
	if t.index[at].Load() != 0 {
		t.clear(at)
	}
	f.Until = now
	e.write(f)
	e.retired = true
	t.assign(at, f.Index)
	return true
}

// TrySoften puts f, a flag that sheds by its ratio for at least that time, in the place of this
// node's own block of the key, and keeps the strikes. The present flag has effect is: a shedding
// flag stays while its ratio is about right. TrySoften does nothing while another goroutine writes,
// nor to a flag of another source, and reports whether it did.
func (t *Table) TrySoften(now window.Instant, f Flag, is Effect, lasts time.Duration) bool {
	left := is.Until.Sub(now)
	if is.Action == Shed && left > lasts/2 && is.Ratio/4*3 <= f.Ratio && f.Ratio/4*3 <= is.Ratio ||
		!t.mu.TryLock() {
		return false
	}
	defer t.mu.Unlock()
	f.Action, f.Source, f.Until = Shed, Self, now.Add(max(left, lasts))
	return t.put(now, f, nil)
}
