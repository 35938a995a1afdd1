package mitigation

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"
	"sync"
)

// MaxWords is how many keys Words remembers the last word of.
const MaxWords = 4096

// News is what a word was to a node that heard it.
type News uint8

// What a word may be; all but Known are worth passing on.
const (
	Known  News = iota // it changed nothing
	Longer             // what stands is to be remembered longer: an older word would have lasted
	Newest             // it is the last word now
)

// Words remembers the last word that operators said of each key: at most MaxWords of them, in a few MiB.
//
//	the admin API ─► Issue ─┐                     ┌─► flag table
//	gossip, state ─► Merge ─┴─► the last word ────┴─► AppendWords ─► gossip, state
//
// Merging is a join: whatever order words come in, and however often, all who heard the same ones hold the
// same. Words that are over, and lifts, are remembered until nothing they took the place of can come back.
// Its methods may be called concurrently. The zero Words is empty and ready.
type Words struct {
	mu      sync.Mutex
	last    map[wordOf]Word
	changes uint64
	stats   WordStats
}

// wordOf is what a word is about.
type wordOf struct{ rule, key string }

// WordStats is how a Words stands; totals are since start.
type WordStats struct {
	Held             int    // words remembered, those that are over included
	Bad, Early, Over uint64 // refused: fields out of bounds, from the future, over already
	Evicted, Full    uint64 // given up for one that lasts longer, or not taken because all others do
}

// Issue stamps w, of which Rule, Key, Says, Until and the texts are set, as given at now (Unix milliseconds),
// newer than any word that is known of its key, and takes it in. Until is counted from now. It returns the word
// as it is to travel, also when there was no room to remember it.
func (s *Words) Issue(now int64, w Word) (Word, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ttl := w.Until - now
	w.Issued = now
	was, held := s.find(now, &w)
	if held {
		w.Issued = max(now, was.Issued+1) // a clock that went back must not lose its operator the last word
	}
	if w.Until = w.Issued + ttl; w.Says == SaysLift {
		w.Until = w.Issued
	}
	switch w.Keep = w.Until; {
	case held:
		w.Keep = max(w.Until, was.Keep)
	case w.Says == SaysLift: // it lifts a word that this node has not heard: that may be as long as any
		w.Keep = w.Issued + MaxWordTTL.Milliseconds()
	}
	_, err := s.merge(now, w)
	return w, err
}

// Merge takes w in at now, Unix milliseconds by this node's clock, and says what it was to this node. The
// error is one of ErrWordBad, ErrWordEarly, ErrWordOver and ErrWordRoom; then nothing has changed. Merge
// keeps w.Key.
func (s *Words) Merge(now int64, w Word) (News, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.merge(now, w)
}

func (s *Words) merge(now int64, w Word) (News, error) {
	if err := s.admit(now, &w); err != nil {
		return Known, err
	}
	was, held := s.find(now, &w)
	if !held {
		if !s.room(now, &w) {
			return Known, ErrWordRoom
		}
		s.put(w)
		return Newest, nil
	}
	keep := max(was.Keep, w.Keep)
	switch {
	case w.Compare(&was) > 0:
		w.Keep = keep
		s.put(w)
		return Newest, nil
	case keep > was.Keep:
		was.Keep = keep // within bounds: an older word's are earlier
		s.put(was)
		return Longer, nil
	}
	return Known, nil
}

// admit returns why w is not taken at now, and counts it.
func (s *Words) admit(now int64, w *Word) error {
	switch err := w.check(); {
	case err != nil:
		s.stats.Bad++
		return err
	case w.Issued > now+MaxEarly.Milliseconds():
		s.stats.Early++
		return ErrWordEarly
	case w.Keep <= now:
		s.stats.Over++
		return ErrWordOver
	}
	return nil
}

func (s *Words) find(now int64, w *Word) (Word, bool) {
	is, ok := s.last[wordOf{w.Rule, string(w.Key)}]
	return is, ok && is.Keep > now
}

func (s *Words) put(w Word) {
	if s.last == nil {
		s.last = make(map[wordOf]Word)
	}
	s.last[wordOf{w.Rule, string(w.Key)}] = w
	s.changes++
}

// room makes room for w, and reports whether there is: the word that goes is the one that ends soonest, or
// ended first, unless that is w.
func (s *Words) room(now int64, w *Word) bool {
	if len(s.last) < MaxWords {
		return true
	}
	s.sweep(now)
	if len(s.last) < MaxWords {
		return true
	}
	least := *w
	for _, is := range s.last {
		if worth(&is, &least) < 0 {
			least = is
		}
	}
	if worth(&least, w) == 0 {
		s.stats.Full++
		return false
	}
	delete(s.last, wordOf{least.Rule, string(least.Key)})
	s.stats.Evicted++
	return true
}

// worth compares what is lost when one of two words is forgotten.
func worth(a, b *Word) int {
	return cmp.Or(cmp.Compare(a.Until, b.Until), cmp.Compare(a.Keep, b.Keep), compareSubjects(a, b))
}

// compareSubjects orders words by what they are about.
func compareSubjects(a, b *Word) int {
	return cmp.Or(strings.Compare(a.Rule, b.Rule), bytes.Compare(a.Key, b.Key))
}

// Sweep forgets what need not be remembered at now, Unix milliseconds.
func (s *Words) Sweep(now int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep(now)
}

func (s *Words) sweep(now int64) {
	for of, w := range s.last {
		if w.Keep <= now {
			delete(s.last, of)
			s.changes++
		}
	}
}

// Last returns the last word of rule's key at now, and whether there is one.
func (s *Words) Last(now int64, rule string, key []byte) (Word, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.find(now, &Word{Rule: rule, Key: key})
}

// All returns every word remembered at now, those that are over included, by rule and key. Their Keys are not
// to be written to.
func (s *Words) All(now int64) []Word {
	s.mu.Lock()
	all := make([]Word, 0, len(s.last))
	for _, w := range s.last {
		if w.Keep > now {
			all = append(all, w)
		}
	}
	s.mu.Unlock()
	slices.SortFunc(all, func(a, b Word) int { return compareSubjects(&a, &b) })
	return all
}

// MergeAll takes in every one of all at now, and calls news, which may be nil, with each that was any. It
// returns how many were refused, those aside that were merely over, and the first reason.
func (s *Words) MergeAll(now int64, all []Word, news func(Word, News)) (refused int, first error) {
	for _, w := range all {
		n, err := s.Merge(now, w)
		switch {
		case errors.Is(err, ErrWordOver): // an older state has some
		case err != nil:
			refused++
			first = cmp.Or(first, err)
		case n != Known && news != nil:
			news(w, n)
		}
	}
	return refused, first
}

// Reject counts a record that could not be read as a word.
func (s *Words) Reject() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Bad++
}

// Changes returns a number that is another one after every change.
func (s *Words) Changes() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changes
}

// Stats reads how s stands.
func (s *Words) Stats() WordStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := s.stats
	stats.Held = len(s.last)
	return stats
}
