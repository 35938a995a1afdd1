package edge

import (
	"errors"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// How long a flag set by hand lasts.
const (
	DefaultTTL = time.Hour
	MinTTL     = time.Second
	MaxTTL     = 30 * 24 * time.Hour
)

// Why a flag could not be set.
var (
	errNoRule = errors.New("edge: no such rule")
	errNoRoom = errors.New("edge: no room in the flag table")
)

// handFlag is a flag as an operator asks for it.
type handFlag struct {
	rule   string
	key    []byte            // 1..256 bytes
	action mitigation.Action // Block or Allow
	ttl    time.Duration     // MinTTL..MaxTTL
	who    string
	reason string
}

// setByHand sets a flag by hand from now on and returns it. It replaces whatever flag the key has, also
// one that would have lasted longer: the last word counts. The error is errNoRule, or errNoRoom when
// more flags by hand than the table holds fall together.
func (e *Edge) setByHand(now window.Instant, h handFlag) (mitigation.Flag, error) {
	e.mu.Lock() // a reload in between would leave the flag where nobody looks for it
	defer e.mu.Unlock()
	r := e.rules.Load().byName[h.rule]
	if r == nil {
		return mitigation.Flag{}, errNoRule
	}
	f := mitigation.Flag{
		Index: r.meter.Index(h.key), Rule: r.Name, Key: h.key, Action: h.action, Source: mitigation.Manual,
		Origin: h.who, Reason: h.reason, Since: now, Until: now.Add(h.ttl),
	}
	if was, ok := e.flags.Find(now, f.Index); ok && was.Source == mitigation.Manual {
		e.flags.Lift(now, f.Index) // the table alone would keep the longer of two equal ones
	}
	if !e.flags.Put(now, f) {
		return mitigation.Flag{}, errNoRoom
	}
	return f, nil
}

// liftByHand lifts key's flag, whoever set it, and reports what it was and whether there was one. Unless
// it allowed the key, what the key was admitted is forgotten too, so that it passes at once and does not
// meet the same count again.
func (e *Edge) liftByHand(now window.Instant, name string, key []byte) (mitigation.Flag, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.rules.Load().byName[name]
	if r == nil {
		return mitigation.Flag{}, false
	}
	i := r.meter.Index(key)
	was, ok := e.flags.Find(now, i)
	if !ok {
		return mitigation.Flag{}, false
	}
	if was.Action != mitigation.Allow {
		r.meter.Forgive(r.meter.Look(now, i)) // while the flag still stands: nobody is refused by count in between
	}
	e.flags.Lift(now, i)
	return was, true
}
