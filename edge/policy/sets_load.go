package policy

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/headgate-dev/headgate/edge/policy/condition"
	"github.com/headgate-dev/headgate/edge/policy/sets"
)

// loadSets reads the sets, with the files they name.
// Sums are looked at after each set, so that a file of gigabytes is refused before the next is read.
func (l *loader) loadSets() {
	l.sets = map[string]*sets.Set{}
	for i := range l.spec.Sets {
		s := &l.spec.Sets[i]
		var loaded *sets.Set
		switch s.Kind {
		case CIDR, CIDRFile:
			nets := s.Nets
			if s.Kind == CIDRFile {
				nets = l.netsOf(s)
			}
			// Kept beside the set, for the table that several conditions on the client share.
			l.nets[s.Name] = nets
			loaded = sets.OfNets(nets)
			l.entries += len(nets)
		default:
			entries := s.Entries
			if s.Kind == TableFile {
				entries = l.entriesOf(s)
			}
			loaded = sets.OfValues(entries)
			l.entries += len(entries)
		}
		l.sets[s.Name] = loaded
		l.bytes += loaded.Bytes()
		if l.entries > MaxEntries {
			l.fault(Fault{Pos: s.At, Message: fmt.Sprintf("all sets together hold at most %d entries; with this one there are %d", MaxEntries, l.entries)})
			return
		}
		if l.bytes > l.options.MaxBytes {
			l.fault(Fault{Pos: s.At, Message: fmt.Sprintf("all sets together may take %d bytes of memory; with this one they take %d", l.options.MaxBytes, l.bytes)})
			return
		}
	}
}

// lines calls each for each line of the file of s that says something, with its number.
// Comments begin with #, so no value in a file can have one.
func (l *loader) lines(s *Set, each func(line string, number int) error) {
	if l.options.ReadFile == nil {
		l.fault(Fault{Pos: s.At, Message: "files of sets are not read here"})
		return
	}
	data, err := l.options.ReadFile(s.File, MaxSetFile)
	if err != nil {
		l.fault(Fault{Pos: s.At, Message: err.Error()})
		return
	}
	number, faults := 0, 0
	for line := range bytes.Lines(data) {
		number++
		text, _, _ := strings.Cut(string(line), "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		if err := each(text, number); err != nil {
			l.fault(Fault{Pos: condition.Pos{Line: number, Col: 1}, File: s.File, Message: err.Error()})
			// The wrong file, named by mistake, has a fault on every line.
			if faults++; faults == maxFileFaults {
				l.fault(Fault{Pos: condition.Pos{Line: number, Col: 1}, File: s.File, Message: "more faults may follow: the rest is not read"})
				return
			}
		}
	}
}

// maxFileFaults is how many faults of one file are reported.
const maxFileFaults = 20

var errTooMany = fmt.Errorf("more than %d entries", MaxEntries)

// netsOf reads the file of a set of addresses: one a line, # begins a comment.
// 192.0.2.0/24 and 2001:db8::1 are lines of it, with or without a comment behind.
func (l *loader) netsOf(s *Set) []netip.Prefix {
	var nets []netip.Prefix
	l.lines(s, func(line string, _ int) error {
		net, err := sets.ParseNet(line)
		if err == nil && len(nets) == MaxEntries {
			err = errTooMany
		}
		if err == nil {
			nets = append(nets, net)
		}
		return err
	})
	return nets
}

// entriesOf reads the file of a table: a value, a comma and a word a line.
// A tier without a number is a fault here, at the file's line, since at a request it would mean no limit.
func (l *loader) entriesOf(s *Set) []sets.Entry {
	var entries []sets.Entry
	known := l.tiersOf(s.Name)
	seen := map[string]int{}
	l.lines(s, func(line string, number int) error {
		value, word, ok := strings.Cut(line, ",")
		e := sets.Entry{Value: strings.TrimSpace(value), Word: strings.TrimSpace(word)}
		switch {
		case !ok:
			return errors.New("a line holds a value, a comma and a tier")
		case len(entries) == MaxEntries:
			return errTooMany
		}
		if err := sets.CheckEntry(e, true); err != nil {
			return err
		}
		for _, names := range known {
			if !slices.Contains(names, e.Word) {
				return fmt.Errorf("tier %.64q has no number in a policy that uses the table", e.Word)
			}
		}
		// In a table a value given twice could have two tiers.
		if first, twice := seen[e.Value]; twice {
			return fmt.Errorf("the value stands on line %d already", first)
		}
		seen[e.Value] = number
		entries = append(entries, e)
		return nil
	})
	return entries
}

// tiersOf returns the tiers with numbers of each policy that chooses by the table called name.
func (l *loader) tiersOf(name string) (known [][]string) {
	for i := range l.spec.Policies {
		if t := l.spec.Policies[i].Tiers; t != nil && t.Table == name {
			known = append(known, t.Names)
		}
	}
	return known
}
