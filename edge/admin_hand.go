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
	MinTTL     = mitigation.MinWordTTL
	MaxTTL     = mitigation.MaxWordTTL
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

// setByHand sets a flag by hand from now on, here and at every other node, and returns it. It replaces
// whatever flag the key has, also one that would have lasted longer: the last word counts. The error is
// errNoRule, or errNoRoom when more flags by hand than the table holds fall together.
func (e *Edge) setByHand(now window.Instant, h handFlag) (mitigation.Flag, error) {
	f, tell, err := e.setHere(now, h)
	if err == nil {
		tell()
	}
	return f, err
}

func (e *Edge) setHere(now window.Instant, h handFlag) (f mitigation.Flag, tell func(), err error) {
	e.mu.Lock() // a reload in between would leave the flag where nobody looks for it
	defer e.mu.Unlock()
	r := e.rules.Load().byName[h.rule]
	if r == nil {
		return f, nil, errNoRule
	}
	f = mitigation.Flag{
		Index: r.meter.Index(h.key), Rule: r.Name, Key: h.key, Action: h.action, Source: mitigation.Manual,
		Origin: h.who, Reason: h.reason, Since: now, Until: now.Add(h.ttl),
	}
	if !e.replaceManual(now, f) {
		return mitigation.Flag{}, nil, errNoRoom
	}
	says := mitigation.SaysBlock
	if h.action == mitigation.Allow {
		says = mitigation.SaysAllow
	}
	return f, e.say(now, mitigation.Word{Rule: r.Name, Key: h.key, Says: says, Who: h.who, Reason: h.reason}, h.ttl), nil
}

// replaceManual puts f in the place of whatever flag its key has; it reports whether there was room.
func (e *Edge) replaceManual(now window.Instant, f mitigation.Flag) bool {
	if was, ok := e.flags.Find(now, f.Index); ok && was.Source == mitigation.Manual {
		e.flags.Lift(now, f.Index) // the table alone would keep the longer of two equal ones
	}
	return e.flags.Put(now, f)
}

// lifted is what a lift by hand came to.
type lifted struct {
	was  mitigation.Flag // zero: there was none here
	told bool            // other nodes are to lift theirs
}

// liftByHand lifts key's flag, whoever set it, here and at every other node, on who's word. It reports false
// when there was nothing to lift: no flag here, no word of one elsewhere, and no other node that may have one.
func (e *Edge) liftByHand(now window.Instant, name string, key []byte, who string) (lifted, bool) {
	l, tell := e.liftHere(now, name, key, who)
	if tell == nil {
		return l, false
	}
	tell()
	return l, true
}

func (e *Edge) liftHere(now window.Instant, name string, key []byte, who string) (l lifted, tell func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.rules.Load().byName[name]
	if r == nil {
		return l, nil
	}
	i, wall := r.meter.Index(key), e.Wall(now).UnixMilli()
	was, held := e.flags.Find(now, i)
	word, said := e.words.Last(wall, name, key)
	l.told = e.hasPeers()
	if there := held || l.told || said && word.InForce(wall); !there {
		return l, nil
	}
	e.lift(now, r, key, was)
	l.was = was
	if !l.told && !said {
		return l, func() {} // there is nothing that a word could lift later
	}
	return l, e.say(now, mitigation.Word{Rule: name, Key: key, Says: mitigation.SaysLift, Who: who}, 0)
}

// lift lifts the flag was of key, zero when it has none. Unless that allowed the key, what it was admitted
// is forgotten too, so that it passes at once and does not meet the same count again.
func (e *Edge) lift(now window.Instant, r *rule, key []byte, was mitigation.Flag) {
	i := r.meter.Index(key)
	if was.Action != mitigation.Allow {
		r.meter.Forgive(r.meter.Look(now, i)) // while the flag still stands: nobody is refused by count in between
	}
	e.flags.Lift(now, i)
	if e.world.on() && e.world.lifted != nil {
		e.world.lifted(r.Name, key)
	}
}
