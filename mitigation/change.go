package mitigation

import "github.com/headgate-dev/headgate/window"

// ChangeKind is the type of a change to the table.
type ChangeKind uint8

// The kinds of change.
const (
	FlagSet ChangeKind = iota
	FlagChanged
	FlagCleared
)

// Change is a flag set, changed or cleared. The change log and the admin pages read Changes.
type Change struct {
	Kind ChangeKind
	Flag Flag // after the change; for FlagCleared, before it
}

// Bounds of the changes a watched Table holds for the next call of Changes: 200 KiB in all.
const (
	MaxChanges    = 256
	manualChanges = 32 // reserved for flags set by hand: no attack hides an operator's act
)

// RatioStep is the change of a flag's ratio, since it was last noted, that counts as a change: 5 %
// of the offered load. A smaller change only follows the traffic.
const RatioStep = MaxRatio / 20

// changes are the changes since the last call of Changes. Guarded by the table's lock.
type changes struct {
	pending []changeNote // capacity MaxChanges; nil without a watcher
	drained []changeNote // the other buffer, owned by the caller of Changes
	lost    uint64
}

// changeNote is a Change with room for the key, so a note does not allocate.
type changeNote struct {
	kind ChangeKind
	flag Flag
	key  [MaxKey]byte
}

// Watch makes t record changes from now on, for Changes.
func (t *Table) Watch() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.changes.pending == nil {
		t.changes.pending = make([]changeNote, 0, MaxChanges)
		t.changes.drained = make([]changeNote, 0, MaxChanges)
	}
}

// Changes returns the changes since the last call, oldest first, and the number of lost changes.
// For a single goroutine.
func (t *Table) Changes() (all []Change, lost uint64) {
	t.mu.Lock()
	c := &t.changes
	notes := c.pending
	c.pending, c.drained = c.drained, notes[:0]
	lost, c.lost = c.lost, 0
	t.mu.Unlock()
	for n := range notes {
		all = append(all, Change{Kind: notes[n].kind, Flag: notes[n].flag.Clone()})
	}
	return all, lost
}

// note records a change, if there is a watcher and room.
func (c *changes) note(kind ChangeKind, f *Flag) {
	room := cap(c.pending)
	if room == 0 {
		return
	}
	if f.Source != Manual {
		room -= manualChanges
	}
	if len(c.pending) >= room {
		c.lost++
		return
	}
	c.pending = c.pending[:len(c.pending)+1]
	is := &c.pending[len(c.pending)-1]
	is.kind, is.flag = kind, *f
	is.flag.Key = is.key[:copy(is.key[:], f.Key)]
}

// notePut notes the change of putting f into e. held: e holds a flag of some key; lives: a live
// flag of f's key. The caller holds the table's lock.
func (t *Table) notePut(e *entry, f *Flag, held, lives bool) {
	switch {
	case lives && !e.flag.differsFrom(f, e.notedRatio):
		return
	case lives:
		t.changes.note(FlagChanged, f)
	default:
		if held {
			t.changes.note(FlagCleared, &e.flag)
		}
		t.changes.note(FlagSet, f)
	}
	e.notedRatio = f.Ratio
}

// differsFrom reports whether replacing f by g is a change worth noting; noted is the ratio noted
// last.
func (f *Flag) differsFrom(g *Flag, noted Ratio) bool {
	moved := max(g.Ratio, noted) - min(g.Ratio, noted)
	return f.Action != g.Action || f.Source != g.Source || f.Origin != g.Origin ||
		f.Reason != g.Reason || moved >= RatioStep
}

// Each calls f with every live flag at now until f returns false. The table's lock is held: f must
// be quick, must not keep the flag or the key, and must not call the table.
func (t *Table) Each(now window.Instant, f func(*Flag) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for at := range t.entries {
		if t.index[at].Load() != 0 && t.entries[at].flag.Until > now && !f(&t.entries[at].flag) {
			return
		}
	}
}
