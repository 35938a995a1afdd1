package policy

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/headgate-dev/headgate/edge/policy/condition"
	"github.com/headgate-dev/headgate/edge/policy/sets"
)

// setFile is the file of a set as read. Never changes.
type setFile struct {
	kind    SetKind
	sum     sets.Sum
	entries int
	set     *sets.Set
}

// loadSets reads the sets, with files. Sums are looked at after each set, so a file of gigabytes is
// refused before the next is read.
func (l *loader) loadSets() {
	l.sets, l.engine.files = map[string]*sets.Set{}, map[string]setFile{}
	for i := range l.spec.Sets {
		s := &l.spec.Sets[i]
		var loaded *sets.Set
		switch s.Kind {
		case CIDR:
			loaded = sets.OfNets(s.Nets)
			l.entries += len(s.Nets)
		case CIDRFile, TableFile:
			is, ok := l.file(s)
			if !ok || l.shrunk(s, &is) {
				continue
			}
			l.engine.files[s.Name], loaded = is, is.set
			l.entries += is.entries
		default:
			loaded = sets.OfValues(s.Entries)
			l.entries += len(s.Entries)
		}
		l.sets[s.Name] = loaded
		l.bytes += loaded.Bytes()
		if l.entries > MaxEntries {
			l.fault(Fault{Pos: s.At, Message: fmt.Sprintf("all sets together hold at most %d "+
				"entries; with this one there are %d", MaxEntries, l.entries)})
			return
		}
		if !l.take(s.At, 0) {
			return
		}
	}
}

// take counts bytes more of memory, and reports whether all sets and numbers have room for them.
func (l *loader) take(at condition.Pos, bytes int) bool {
	if l.bytes += int64(bytes); l.bytes <= l.options.MaxBytes {
		return true
	}
	l.fault(Fault{Pos: at, Message: fmt.Sprintf("all sets together may take %d bytes "+
		"of memory; with this one they take %d", l.options.MaxBytes, l.bytes)})
	return false
}

// file returns the file of s: as in the engine before while the file is the same, else read. ok is
// false where the file is at fault. Read twice, first for the sum alone: an unchanged file takes no
// memory, and a changed file the room of the lines. A time of change would be cheaper, and misses a
// file written twice within a tick of the clock.
func (l *loader) file(s *Set) (is setFile, ok bool) {
	if o := &l.options; o.Before != nil && (o.Open == nil || o.Only != "" && o.Only != s.Name) {
		is, ok = o.Before.files[s.Name]
		return is, ok
	}
	sum, lines, ok := l.lines(s, func(string, int) error { return nil })
	if !ok {
		return is, false
	}
	if shared := l.options.Before; shared != nil {
		is = shared.files[s.Name]
		if is.set != nil && is.kind == s.Kind && is.sum == sum && l.knows(s, is.set) {
			return is, true
		}
	}
	is.kind = s.Kind
	before := len(l.faults)
	if lines = min(lines, MaxEntries); s.Kind == CIDRFile {
		ok = l.netsOf(s, lines, &is)
	} else {
		ok = l.entriesOf(s, lines, &is)
	}
	slices.SortStableFunc(l.faults[before:], func(a, b Fault) int { return a.Line - b.Line })
	return is, ok
}

// fewEntries is up to how many entries less than a set may lose all of them: so few are by hand.
const fewEntries = 10

// shrunk reports whether the file of s lost more than half of its entries, and records the fault: a
// file cut short while it was written would let everybody in, or out.
func (l *loader) shrunk(s *Set, is *setFile) bool {
	if l.options.Before == nil || s.AllowShrink || l.options.Force {
		return false
	}
	was := l.options.Before.files[s.Name]
	if was.set == nil || was.kind != s.Kind || was.entries < fewEntries ||
		2*is.entries >= was.entries {
		return false
	}
	l.fault(Fault{Pos: s.At, Message: fmt.Sprintf("set %s: %s has %s entries and had %s; "+
		"--force or allow_shrink: true takes it", s.Name, s.File,
		grouped(is.entries), grouped(was.entries))})
	return true
}

// grouped returns n in groups of three digits: 10,000.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// SetChange is a set whose file has changed.
type SetChange struct {
	Name          string
	Before, After int // entries
}

// Changed returns the sets of files that differ from those of before, in the order of their names.
func (e *Engine) Changed(before *Engine) (all []SetChange) {
	for _, name := range slices.Sorted(maps.Keys(e.files)) {
		was := setFile{}
		if before != nil {
			was = before.files[name]
		}
		if is := e.files[name]; was.set == nil || was.sum != is.sum {
			all = append(all, SetChange{name, was.entries, is.entries})
		}
	}
	return all
}

// knows reports whether each word of set has a number in all policies choosing by the table s.
func (l *loader) knows(s *Set, set *sets.Set) bool {
	if s.Kind != TableFile {
		return true
	}
	for _, u := range l.spec.usersOf(s.Name) {
		for _, word := range set.Words() {
			if u.check(word) != nil {
				return false
			}
		}
	}
	return true
}

// lines calls each for each line of the file of s with text, with the number. Comments begin with
// #, so no value in a file can have a #.
func (l *loader) lines(
	s *Set, each func(line string, number int) error,
) (sum sets.Sum, lines int, ok bool) {
	if l.options.Open == nil {
		l.fault(Fault{Pos: s.At, Message: "files of sets are not read here"})
		return sum, 0, false
	}
	file, err := l.options.Open(s.File)
	if err != nil {
		l.fault(Fault{Pos: s.At, Message: err.Error()})
		return sum, 0, false
	}
	defer file.Close() //nolint:errcheck // only read from
	faults, read := 0, &ending{Reader: file}
	defer func() { l.cut = read.last != '\n' }()
	sum, lines, err = sets.ReadLines(read, MaxSetFile, func(line []byte, number int) bool {
		line, _, _ = bytes.Cut(line, []byte("#"))
		if line = bytes.TrimSpace(line); len(line) == 0 {
			return true
		}
		if err := each(string(line), number); err != nil {
			l.lineFault(s, number, err)
			faults++
		}
		// The wrong file, named by mistake, has a fault on every line.
		return faults < maxFileFaults
	})
	switch {
	case err != nil:
		l.fault(Fault{Pos: s.At, Message: fmt.Sprintf("read %s: %v", s.File, err)})
	case faults == maxFileFaults:
		l.lineFault(s, lines, errMore)
	}
	return sum, lines, err == nil && faults == 0
}

func (l *loader) lineFault(s *Set, line int, err error) {
	l.fault(Fault{Pos: condition.Pos{Line: line, Col: 1}, File: s.File, Message: err.Error()})
}

// maxFileFaults is how many faults of a file are reported.
const maxFileFaults = 20

var (
	errTooMany = fmt.Errorf("more than %d entries", MaxEntries)
	errMore    = errors.New("more faults may follow: the rest is not read")
)

// netsOf reads the file of a set of addresses, of about so many lines: one a line; # begins a
// comment. 192.0.2.0/24 and 2001:db8::1 are lines, with or without a comment behind.
func (l *loader) netsOf(s *Set, lines int, is *setFile) (ok bool) {
	var nets sets.Ranges
	nets.Grow(lines)
	is.entries = 0
	is.sum, _, ok = l.lines(s, func(line string, _ int) error {
		net, err := sets.ParseNet(line)
		if err == nil && is.entries == MaxEntries {
			err = errTooMany
		}
		if err == nil {
			nets.Add(net)
			is.entries++
		}
		return err
	})
	is.set = nets.Set()
	return ok
}

// entriesOf reads the file of a table, of about so many lines: a value, a comma and a word a line.
// A tier without a number is a fault here, at the file's line, since at a request no limit would
// follow.
func (l *loader) entriesOf(s *Set, lines int, is *setFile) (ok bool) {
	values, known := sets.NewValues(lines), l.spec.usersOf(s.Name)
	is.sum, lines, ok = l.lines(s, func(line string, number int) error {
		e, err := entryOf(line, known)
		switch {
		case err != nil:
			return err
		case values.Len() == MaxEntries:
			return errTooMany
		}
		// Nobody asks for the words, and there may be a million.
		if known == nil {
			e.Word = ""
		}
		if values.Add(e, number); values.Words() > MaxNumbers {
			return fmt.Errorf("more than %d different numbers and tiers", MaxNumbers)
		}
		return nil
	})
	is.entries = values.Len()
	if ok && l.cut && values.Len() > 0 && values.HasWord(isNumber) {
		l.lineFault(s, lines, errors.New("the last line has no end: is the file cut short?"))
		ok = false
	}
	set, twice := values.Set()
	is.set = set
	// In a table a value given twice could have two tiers.
	for _, v := range twice[:min(len(twice), maxFileFaults)] {
		l.lineFault(s, v.Again, fmt.Errorf("the value stands on line %d already", v.First))
	}
	return ok && twice == nil
}
