package gate

import (
	"bytes"
	"time"

	"github.com/headgate-dev/headgate/edge/gate/networks"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
)

// effect returns the effect at now of the flag of key, with index i under r, or of the network
// holding key.
func (g *Gate) effect(now window.Instant, r *rule, i sketch.Index, key []byte) mitigation.Effect {
	if f := g.networks.Find(now, r.Name, key); f != nil {
		return f.Effect
	}
	return g.flags.Get(now, i)
}

// left returns the time until the flag of effect, of index i under r, ends: of a block r renews,
// from now on.
func (g *Gate) left(
	now window.Instant, r *rule, i sketch.Index, effect mitigation.Effect,
) time.Duration {
	if r.Renews && effect.Action == mitigation.Block {
		return g.flags.Renew(now, i, &r.Rule, effect.Until)
	}
	return effect.Until.Sub(now)
}

// NetworkStats returns the numbers of networks with a flag by hand.
func (g *Gate) NetworkStats() networks.Stats { return g.networks.Stats() }

// networkAsked returns the key for which an operator's flag of key is: key itself, or where key
// reads as a network and no request has sent key so, the network in canonical form. A key is
// certainly sent if counted exactly, or has a flag or an override: the sketch could vouch for any.
func (g *Gate) networkAsked(now window.Instant, r *rule, key []byte) []byte {
	network, ok := networks.Of(key)
	if !ok {
		return key
	}
	i := r.meter.Index(key)
	_, counted := r.meter.Suspect(i)
	_, given := g.overrides.Last(g.Wall(now).UnixMilli(), r.Name, key)
	if counted || given || g.flags.Get(now, i).Live() {
		return key
	}
	return network
}

// networkChanged makes the tree of networks anew after a flag of key was set or lifted by hand,
// where of effect. The caller holds g.mu.
func (g *Gate) networkChanged(now window.Instant, key []byte) {
	if _, ok := networks.Of(key); ok || g.networks.Any() {
		g.networks.Update(now, g.flags)
	}
}

// Holder returns the key of the flag by hand deciding for key under the rule called name as a flag
// of a network holding key; nil if there is none.
func (g *Gate) Holder(now window.Instant, name string, key []byte) []byte {
	if f := g.networks.Find(now, name, key); f != nil && !bytes.Equal(f.Key, key) {
		return f.Key
	}
	return nil
}
