package mitigation

import "github.com/headgate-dev/headgate/window"

// ChangeKind says what became of a flag.
type ChangeKind uint8

// The kinds of change.
const (
	FlagSet ChangeKind = iota
	FlagChanged
	FlagCleared
)

// Change is what became of one flag.
type Change struct {
	Kind ChangeKind
	Flag Flag // as it is then; of a cleared one, as it was
}

// Bounds of what a watched Table remembers for the next call of Changes, in 200 KiB besides its bytes.
const (
	MaxChanges    = 256
	changesByHand = 32 // of them: for flags set by hand only, so that no attack hides what an operator does
)

// RatioStep is how far a flag's ratio must have moved, since it was last told, to be a change: 5 % of what is offered.
// Below that a ratio only follows the traffic.
const RatioStep = MaxRatio / 20

// changes is what happened since it was last asked for. It is guarded by the table's lock.
type changes struct {
	noted []changeNote // room for MaxChanges; nil: nobody watches
	spare []changeNote // belongs to who calls Changes
	lost  uint64
}

// changeNote is a Change with room for its key, so that noting one allocates nothing.
type changeNote struct {
	kind ChangeKind
	flag Flag
	key  [MaxKey]byte
}

// Watch makes t remember what changes from now on, for Changes.
func (t *Table) Watch() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.changes.noted == nil {
		t.changes.noted = make([]changeNote, 0, MaxChanges)
		t.changes.spare = make([]changeNote, 0, MaxChanges)
	}
}

// Changes returns what changed since the last call, oldest first, and how many changes more did not fit. It is for one
// goroutine.
func (t *Table) Changes() (all []Change, lost uint64) {
	t.mu.Lock()
	c := &t.changes
	notes := c.noted
	c.noted, c.spare = c.spare, notes[:0]
	lost, c.lost = c.lost, 0
	t.mu.Unlock()
	for n := range notes {
		all = append(all, Change{Kind: notes[n].kind, Flag: notes[n].flag.Clone()})
	}
	return all, lost
}

// note remembers a change, if somebody watches and there is room.
func (c *changes) note(kind ChangeKind, f *Flag) {
	room := cap(c.noted)
	if room == 0 {
		return
	}
	if f.Source != Manual {
		room -= changesByHand
	}
	if len(c.noted) >= room {
		c.lost++
		return
	}
	c.noted = c.noted[:len(c.noted)+1]
	is := &c.noted[len(c.noted)-1]
	is.kind, is.flag = kind, *f
	is.flag.Key = is.key[:copy(is.key[:], f.Key)]
}

// notePut notes what putting f where e is changes; held: e is a flag of any key, lives: of f's key and live. The caller
// holds the table's lock.
func (t *Table) notePut(e *entry, f *Flag, held, lives bool) {
	switch {
	case lives && !e.flag.tells(f, e.told):
		return
	case lives:
		t.changes.note(FlagChanged, f)
	default:
		if held {
			t.changes.note(FlagCleared, &e.flag)
		}
		t.changes.note(FlagSet, f)
	}
	e.told = f.Ratio
}

// tells reports whether g, in the place of f, is worth telling: told is the ratio told last.
func (f *Flag) tells(g *Flag, told Ratio) bool {
	moved := max(g.Ratio, told) - min(g.Ratio, told)
	return f.Action != g.Action || f.Source != g.Source || f.Origin != g.Origin || f.Reason != g.Reason || moved >= RatioStep
}

// Each calls f with every live flag at now, until f returns false, under the table's lock: f must be quick, keep neither the
// flag nor its key, and not call the table.
func (t *Table) Each(now window.Instant, f func(*Flag) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for at := range t.entries {
		if t.index[at].Load() != 0 && t.entries[at].flag.Until > now && !f(&t.entries[at].flag) {
			return
		}
	}
}
