package gate

import (
	"errors"
	"time"

	"github.com/headgate-dev/headgate/edge/gate/networks"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/override"
	"github.com/headgate-dev/headgate/window"
)

// The time for which an override holds: by default, at least and at most (1 s and 30 days).
const (
	DefaultTTL = time.Hour
	MinTTL     = override.MinTTL
	MaxTTL     = override.MaxTTL
)

// The errors of Override.
var (
	ErrNoRule = errors.New("gate: no such rule")
	ErrNoRoom = errors.New("gate: no room in the flag table")
)

// ByHand is an override asked for by an operator.
type ByHand struct {
	Rule string // name of a rule in force
	// 1..256 bytes; a network such as 10.0.0.0/8 stands for every key in the network
	Key []byte
	// Key was copied from a list of keys: the key stays unchanged, even if readable as a network
	Listed bool
	Action mitigation.Action // Block or Allow
	TTL    time.Duration     // MinTTL..MaxTTL
	Who    string            // the operator, at most override.MaxWho bytes
	Reason string            // at most override.MaxReason bytes
}

// Override sets a flag from now on, here and at every other node, and returns it. It replaces any
// flag of the key, even one that would have lasted longer: the last override counts. It may wait
// for a reload to end.
//
// The error is ErrNoRule, or ErrNoRoom if every place in the table the flag may take holds a
// worthier flag, or if there are networks.Most flags of networks.
func (g *Gate) Override(now window.Instant, h ByHand) (mitigation.Flag, error) {
	f, publish, err := g.overrideHere(now, h)
	if err == nil {
		publish()
	}
	return f, err
}

// overrideHere sets the flag at this node. publish sends the override to the others, and is to be
// called without the lock.
func (g *Gate) overrideHere(
	now window.Instant, h ByHand,
) (f mitigation.Flag, publish func(), err error) {
	g.mu.Lock() // a reload in between would leave the flag under an index no request asks for
	defer g.mu.Unlock()
	r := g.rules.Load().byName[h.Rule]
	if r == nil {
		return f, nil, ErrNoRule
	}
	if !h.Listed {
		h.Key = g.networkAsked(now, r, h.Key)
	}
	if _, ok := networks.Of(h.Key); ok && g.networks.Stats().Held >= networks.Most {
		return f, nil, ErrNoRoom
	}
	f = mitigation.Flag{
		Index: r.meter.Index(h.Key), Rule: r.Name, Key: h.Key, Action: h.Action,
		Source: mitigation.Manual,
		Origin: h.Who, Reason: h.Reason, Since: now, Until: now.Add(h.TTL),
	}
	if !g.replaceManual(now, f) {
		return mitigation.Flag{}, nil, ErrNoRoom
	}
	g.networkChanged(now, h.Key)
	verb := override.Block
	if h.Action == mitigation.Allow {
		verb = override.Allow
	}
	return f, g.issue(now, override.Override{
		Rule: r.Name, Key: h.Key, Verb: verb, Who: h.Who,
		Reason: h.Reason,
	}, h.TTL), nil
}

// replaceManual puts f in the place of any flag of the same key, and reports whether there was
// room.
func (g *Gate) replaceManual(now window.Instant, f mitigation.Flag) bool {
	if was, ok := g.flags.Find(now, f.Index); ok && was.Source == mitigation.Manual {
		g.flags.Lift(now, f.Index) // of two flags of equal source the table would keep the longer
	}
	return g.flags.Put(now, f)
}

// Lifted is the result of Lift.
type Lifted struct {
	Was       mitigation.Flag // flag that stood here; zero: none
	Published bool            // the lift was sent to other nodes
}

// Lift ends key's flag, whoever set it, here and at every other node, on behalf of the operator
// who. The admitted cost of a refused key is forgotten, so the key passes at once. Lift may wait
// for a reload to end.
//
// False if there was nothing to lift: no such rule, or no flag here, no override of the key
// elsewhere, and no other node possibly with a flag.
func (g *Gate) Lift(now window.Instant, name string, key []byte, who string) (Lifted, bool) {
	l, publish := g.liftHere(now, name, key, who)
	if publish == nil {
		return l, false
	}
	publish()
	return l, true
}

// liftHere lifts the flag at this node. publish sends the lift to the others; nil if there was
// nothing to lift.
func (g *Gate) liftHere(
	now window.Instant, name string, key []byte, who string,
) (l Lifted, publish func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.rules.Load().byName[name]
	if r == nil {
		return l, nil
	}
	key = g.networkAsked(now, r, key)
	i, wall := r.meter.Index(key), g.Wall(now).UnixMilli()
	was, held := g.flags.Find(now, i)
	last, given := g.overrides.Last(wall, name, key)
	l.Published = g.global != nil && g.global.Peers != nil && g.global.Peers()
	if there := held || l.Published || given && last.InForce(wall); !there {
		return l, nil
	}
	g.lift(now, r, key, was)
	g.networkChanged(now, key)
	l.Was = was
	if !l.Published && !given {
		return l, func() {} // no node holds an override this lift would have to end
	}
	return l, g.issue(now, override.Override{Rule: name, Key: key, Verb: override.Lift, Who: who},
		0)
}

// lift ends was, the flag of key; was is zero if key has none. Unless was allowed the key, the
// admitted cost is forgotten too: the same count would refuse the key again at once.
func (g *Gate) lift(now window.Instant, r *rule, key []byte, was mitigation.Flag) {
	i := r.meter.Index(key)
	if was.Action != mitigation.Allow {
		// before the flag ends: no request is refused by the count in between
		r.meter.Forgive(r.meter.Look(now, i))
	}
	g.forgetUsedUp(r, key, now, false)
	g.flags.Lift(now, i)
	if g.global != nil && g.global.Lifted != nil {
		g.global.Lifted(r.of(now, key).far, key)
	}
}
