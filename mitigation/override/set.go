package override

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"sync"
)

// MaxHeld bounds the keys of which a Set holds the last override.
const MaxHeld = 4096

// News is the effect of an override on the merging node.
type News uint8

// The effects. All but Known are to be passed on.
const (
	Known  News = iota // no change
	Longer             // the held override is kept longer, because an older one lasts longer
	Newest             // it replaces the held override
)

// Set holds the last override of each key: at most MaxHeld, in a few MiB.
//
//	the admin API ─► Issue ─┐                         ┌─► flag table
//	gossip, state ─► Merge ─┴─► the last override ────┴─► AppendAll ─► gossip, state
//
// Merging is a join: nodes with the same overrides hold the same set, whatever the order and the
// repetitions. Expired overrides and lifts are held until no replaced override can return. Methods
// may be called concurrently. The zero Set is empty and ready.
type Set struct {
	mu      sync.Mutex
	held    map[subject]Override
	changes uint64
	stats   Stats
}

// subject is the key of an override under a rule.
type subject struct{ rule, key string }

// Stats are a Set's gauges, and counters since start.
type Stats struct {
	Held             int    // overrides held, with the expired
	Bad, Early, Over uint64 // refused: out of bounds, issued in the future, expired
	Evicted, Full    uint64 // displaced by one that lasts longer; refused because all others do
}

// Issue stamps o as issued at now (Unix milliseconds), newer than any known override of its key,
// and merges it. Rule, Key, Verb, Until and the texts must be set; Until - now is its TTL. Issue
// returns the override to spread, also when there was no room.
func (s *Set) Issue(now int64, o Override) (Override, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ttl := o.Until - now
	o.Issued = now
	was, held := s.find(now, &o)
	if held {
		// a clock set back must not make this override lose
		o.Issued = max(now, was.Issued+1)
	}
	if o.Until = o.Issued + ttl; o.ends() {
		o.Until = o.Issued
	}
	switch o.Keep = o.Until; {
	case held:
		o.Keep = max(o.Until, was.Keep)
	case o.ends(): // the override to lift is unknown here and may last as long as any
		o.Keep = o.Issued + o.longest()
	}
	_, err := s.merge(now, o)
	return o, err
}

// Merge merges o at now, Unix milliseconds by this node's clock, and returns the effect. On an
// error, such as ErrBad, ErrEarly, ErrOver and ErrRoom, nothing has changed. Merge keeps o.Key.
func (s *Set) Merge(now int64, o Override) (News, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.merge(now, o)
}

func (s *Set) merge(now int64, o Override) (News, error) {
	if err := s.admit(now, &o); err != nil {
		return Known, err
	}
	was, held := s.find(now, &o)
	if !held {
		if !s.room(now, &o) {
			return Known, ErrRoom
		}
		s.put(o)
		return Newest, nil
	}
	keep := max(was.Keep, o.Keep)
	switch {
	case o.Compare(&was) > 0:
		o.Keep = keep
		s.put(o)
		return Newest, nil
	case keep > was.Keep:
		was.Keep = keep // within bounds, because the older override's are earlier
		s.put(was)
		return Longer, nil
	}
	return Known, nil
}

// admit returns and counts the reason for refusing o at now.
func (s *Set) admit(now int64, o *Override) error {
	switch err := o.check(); {
	case err != nil:
		s.stats.Bad++
		return err
	case o.Issued > now+MaxEarly.Milliseconds():
		s.stats.Early++
		return ErrEarly
	case o.Keep <= now:
		s.stats.Over++
		return ErrOver
	}
	return nil
}

func (s *Set) find(now int64, o *Override) (Override, bool) {
	is, ok := s.held[subject{o.Rule, string(o.Key)}]
	return is, ok && is.Keep > now
}

func (s *Set) put(o Override) {
	if s.held == nil {
		s.held = make(map[subject]Override)
	}
	s.held[subject{o.Rule, string(o.Key)}] = o
	s.changes++
}

// room reports whether there is room for o. The override first to end, or ended, is displaced,
// unless o itself.
func (s *Set) room(now int64, o *Override) bool {
	if len(s.held) < MaxHeld {
		return true
	}
	s.sweep(now)
	if len(s.held) < MaxHeld {
		return true
	}
	least := *o
	for _, is := range s.held {
		if worth(&is, &least) < 0 {
			least = is
		}
	}
	if worth(&least, o) == 0 {
		s.stats.Full++
		return false
	}
	delete(s.held, subject{least.Rule, string(least.Key)})
	s.stats.Evicted++
	return true
}

// worth orders overrides by the loss of forgetting.
func worth(a, b *Override) int {
	return cmp.Or(cmp.Compare(a.Until, b.Until), cmp.Compare(a.Keep, b.Keep), compareSubjects(a, b))
}

// compareSubjects orders overrides by rule and key.
func compareSubjects(a, b *Override) int {
	return cmp.Or(strings.Compare(a.Rule, b.Rule), bytes.Compare(a.Key, b.Key))
}

// Sweep forgets the overrides needing not be held at now, Unix milliseconds.
func (s *Set) Sweep(now int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep(now)
}

func (s *Set) sweep(now int64) {
	for of, o := range s.held {
		if o.Keep <= now {
			delete(s.held, of)
			s.changes++
		}
	}
}

// Last returns the held override of rule's key at now.
func (s *Set) Last(now int64, rule string, key []byte) (Override, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.find(now, &Override{Rule: rule, Key: key})
}

// All returns the overrides held at now, with the expired, sorted by rule and key. Their Keys are
// read-only.
func (s *Set) All(now int64) []Override {
	s.mu.Lock()
	all := make([]Override, 0, len(s.held))
	for _, o := range s.held {
		if o.Keep > now {
			all = append(all, o)
		}
	}
	s.mu.Unlock()
	slices.SortFunc(all, func(a, b Override) int { return compareSubjects(&a, &b) })
	return all
}

// MergeAll merges all at now, and calls onNews, which may be nil, with each with an effect. Those
// refused are counted.
func (s *Set) MergeAll(now int64, all []Override, onNews func(Override, News)) {
	for _, o := range all {
		if n, err := s.Merge(now, o); err == nil && n != Known && onNews != nil {
			onNews(o, n)
		}
	}
}

// Reject counts an unparsable record.
func (s *Set) Reject() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Bad++
}

// Changes returns a number differing after every change.
func (s *Set) Changes() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changes
}

// Stats returns the gauges and counters.
func (s *Set) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := s.stats
	stats.Held = len(s.held)
	return stats
}
