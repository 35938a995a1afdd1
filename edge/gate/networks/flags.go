package networks

import (
	"bytes"
	"net/netip"
	"sync/atomic"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// Most is the most networks with a flag. Flags of further networks are counted, and hold for no
// other key.
const Most = 1024

// Flags finds the flag set by hand deciding for a key. Update is for a single caller at a time; the
// other methods may be called concurrently with it. The zero Flags holds none.
type Flags struct {
	now     atomic.Pointer[set] // nil: no flag is of a network
	dropped atomic.Uint64
}

// set is the flags by hand at a single time. It never changes.
type set struct {
	byRule map[string]*ruleSet
	held   int
	ends   window.Instant // when the first flag by hand does
}

// ruleSet is the flags by hand under a rule.
type ruleSet struct {
	networks []Entry[Flag]
	tree     *Table[Flag]    // of networks
	own      map[string]bool // keys of the others: their own flags decide
}

// Flag is the flag of a network.
type Flag struct {
	Effect mitigation.Effect
	Key    []byte // of the flag
}

// Stats describe Flags.
type Stats struct {
	Held    int    // networks with a flag now
	Dropped uint64 // flags that there was no room for
}

// Stats returns the numbers of networks.
func (f *Flags) Stats() Stats {
	s := Stats{Dropped: f.dropped.Load()}
	if is := f.now.Load(); is != nil {
		s.Held = is.held
	}
	return s
}

// Any reports whether a flag is of a network.
func (f *Flags) Any() bool { return f.now.Load() != nil }

// Ended reports whether a flag has ended since the last Update, which is due then.
func (f *Flags) Ended(now window.Instant) bool {
	is := f.now.Load()
	return is != nil && is.ends <= now
}

// Find returns the flag of the smallest network holding key, an address or a network or one of
// several parts that is, under the rule called name; nil if there is none, or if key has a flag by
// hand of its own. It allocates nothing.
func (f *Flags) Find(now window.Instant, name string, key []byte) (found *Flag) {
	is := f.now.Load()
	if is == nil {
		return nil
	}
	r := is.byRule[name]
	if r == nil || r.own[string(key)] {
		return nil
	}
	if p, ok := AddressIn(key); ok {
		r.tree.Find(p, func(flag *Flag) bool {
			if flag.Effect.Until > now {
				found = flag
			}
			return found != nil
		})
	}
	return found
}

// Update makes the tree anew of the flags by hand in table.
func (f *Flags) Update(now window.Instant, table *mitigation.Table) {
	next := &set{byRule: map[string]*ruleSet{}}
	table.Each(now, func(flag *mitigation.Flag) bool {
		if flag.Source == mitigation.Manual && !next.add(flag) {
			f.dropped.Add(1)
		}
		return true
	})
	if next.held == 0 { // the flags of single keys are found without it
		f.now.Store(nil)
		return
	}
	for _, r := range next.byRule {
		r.tree = NewTable(r.networks)
	}
	f.now.Store(next)
}

// add adds flag, and reports whether there was room.
func (s *set) add(flag *mitigation.Flag) bool {
	r := s.byRule[flag.Rule]
	if r == nil {
		r = &ruleSet{own: map[string]bool{}}
		s.byRule[flag.Rule] = r
	}
	if s.ends == 0 || flag.Until < s.ends {
		s.ends = flag.Until
	}
	p, err := netip.ParsePrefix(string(flag.Key))
	if err != nil {
		r.own[string(flag.Key)] = true
		return true
	}
	if s.held == Most {
		return false
	}
	s.held++
	is := Flag{
		mitigation.Effect{Action: flag.Action, Ratio: flag.Ratio, Until: flag.Until},
		bytes.Clone(flag.Key),
	}
	r.networks = append(r.networks, Entry[Flag]{Prefix: unmapped(p), Value: is})
	return true
}
