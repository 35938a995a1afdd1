package gate

import (
	"bytes"
	"net/netip"

	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/network"
	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
)

// A flag of a network, set by hand, holds for every key that is an address or a smaller network in it,
// or has one among its parts. Such flags stand in the flag table like any other, under the text of the
// network. The decision finds them in networks, a tree made anew whenever an operator's flag changes.
//
//	Override, Lift, MergeOverride, SetRules, Restore ─► flag table ─► updateNetworks ─► networks
//
// Of several the smallest network decides, and a flag by hand of the key itself before any of them.

// MaxNetworks is the most flags in the tree. Further ones are counted, and hold for no other key.
const MaxNetworks = 1024

// networks are the flags set by hand of networks. They never change.
type networks struct {
	byRule map[string]*ruleNetworks
	held   int
	ends   window.Instant // when the first flag by hand does
}

// ruleNetworks are the flags set by hand under one rule.
type ruleNetworks struct {
	networks []network.Entry[handFlag]
	tree     *network.Table[handFlag] // of networks
	own      map[string]bool          // keys of the others: their own flags decide
}

// handFlag is a flag in the tree.
type handFlag struct {
	effect mitigation.Effect
	key    []byte // of the flag
}

// NetworkStats describe the tree of networks.
type NetworkStats struct {
	Held    int    // flags in the tree now
	Dropped uint64 // flags that had no place in it
}

// NetworkStats returns the state of the tree of networks.
func (g *Gate) NetworkStats() NetworkStats {
	s := NetworkStats{Dropped: g.networksDropped.Load()}
	if n := g.networks.Load(); n != nil {
		s.Held = n.held
	}
	return s
}

// effect returns the effect at now of the flag of key, which has that index under r, or of the network
// that holds it.
func (g *Gate) effect(now window.Instant, r *rule, i sketch.Index, key []byte) mitigation.Effect {
	if n := g.networks.Load(); n != nil {
		if f := n.find(now, r.Name, key); f != nil {
			return f.effect
		}
	}
	return g.flags.Get(now, i)
}

// find returns the flag by hand that decides for key under the rule called name; nil if none does.
func (n *networks) find(now window.Instant, name string, key []byte) (found *handFlag) {
	r := n.byRule[name]
	if r == nil || r.own[string(key)] {
		return nil
	}
	if p, ok := addressIn(key); ok {
		r.tree.Find(p, func(f *handFlag) bool {
			if f.effect.Until > now {
				found = f
			}
			return found != nil
		})
	}
	return found
}

// addressIn returns the address or the network that key is, or that is the first such part of it.
func addressIn(key []byte) (netip.Prefix, bool) {
	for rest, more := key, true; more; {
		var part []byte
		part, rest, more = bytes.Cut(rest, []byte{partsEnd})
		if p, ok := addressOf(part); ok {
			return p, true
		}
	}
	return netip.Prefix{}, false
}

// partsEnd separates the parts of a key that a policy makes of several.
const partsEnd = 0x1f

// addressOf returns the network that text is; of an address all its bits. It allocates nothing.
func addressOf(text []byte) (netip.Prefix, bool) {
	at, length, found := bytes.Cut(text, []byte{'/'})
	a, ok := request.ParseAddress(at)
	if !ok {
		return netip.Prefix{}, false
	}
	bits := a.BitLen()
	if found {
		if bits, ok = prefixLength(length); !ok || bits > a.BitLen() {
			return netip.Prefix{}, false
		}
	}
	return netip.PrefixFrom(a, bits).Masked(), true
}

// prefixLength returns the number that text is, of at most three digits.
func prefixLength(text []byte) (n int, ok bool) {
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, len(text) > 0 && len(text) <= 3
}

// networkOf returns the text of the network that key reads as, in the one form that a network has:
// 10.0.0.0/8 of 10.1.2.3/8. It reports false for anything else, such as a path or an address.
func networkOf(key []byte) ([]byte, bool) {
	p, err := netip.ParsePrefix(string(key))
	if err != nil {
		return nil, false
	}
	return []byte(unmapped(p).String()), true
}

// unmapped returns p without the bits beyond its length, as IPv4 if it is IPv4 in IPv6.
func unmapped(p netip.Prefix) netip.Prefix {
	const prefix = 96 // bits of ::ffff:0:0
	if a := p.Addr(); a.Is4In6() && p.Bits() >= prefix {
		p = netip.PrefixFrom(a.Unmap(), p.Bits()-prefix)
	}
	return p.Masked()
}

// networkAsked returns the key for which an operator's flag of key is: key itself, or where that reads
// as a network and no request has sent it so, the network in its one form.
func (g *Gate) networkAsked(now window.Instant, r *rule, key []byte) []byte {
	if n, ok := networkOf(key); ok && !g.hasKey(now, r, key) {
		return n
	}
	return key
}

// hasKey reports whether r certainly has key: it is counted exactly, has a flag, or has an
// override. The sketch is not asked, because a collision there would vouch for a key that no
// request has sent.
func (g *Gate) hasKey(now window.Instant, r *rule, key []byte) bool {
	i := r.meter.Index(key)
	_, counted := r.meter.Suspect(i)
	_, given := g.overrides.Last(g.Wall(now).UnixMilli(), r.Name, key)
	return counted || given || g.flags.Get(now, i).Live()
}

// networkChanged makes the tree anew after a flag of key was set or lifted by hand, where that matters.
// The caller holds g.mu.
func (g *Gate) networkChanged(now window.Instant, key []byte) {
	if _, ok := networkOf(key); ok || g.networks.Load() != nil {
		g.updateNetworks(now)
	}
}

// updateNetworks makes the tree of the operators' flags anew. The caller holds g.mu.
func (g *Gate) updateNetworks(now window.Instant) {
	next := &networks{byRule: map[string]*ruleNetworks{}}
	g.flags.Each(now, func(f *mitigation.Flag) bool {
		if f.Source == mitigation.Manual && !next.add(f) {
			g.networksDropped.Add(1)
		}
		return true
	})
	if next.held == 0 {
		next = nil // the flags of single keys are found without it
	}
	for _, r := range next.rules() {
		r.tree = network.New(r.networks)
	}
	g.networks.Store(next)
}

// rules returns the rules with flags by hand. n may be nil.
func (n *networks) rules() map[string]*ruleNetworks {
	if n == nil {
		return nil
	}
	return n.byRule
}

// add adds f, and reports whether there was room.
func (n *networks) add(f *mitigation.Flag) bool {
	r := n.byRule[f.Rule]
	if r == nil {
		r = &ruleNetworks{own: map[string]bool{}}
		n.byRule[f.Rule] = r
	}
	if n.ends == 0 || f.Until < n.ends {
		n.ends = f.Until
	}
	p, err := netip.ParsePrefix(string(f.Key))
	if err != nil {
		r.own[string(f.Key)] = true
		return true
	}
	if n.held == MaxNetworks {
		return false
	}
	n.held++
	is := handFlag{mitigation.Effect{Action: f.Action, Ratio: f.Ratio, Until: f.Until}, bytes.Clone(f.Key)}
	r.networks = append(r.networks, network.Entry[handFlag]{Prefix: unmapped(p), Value: is})
	return true
}

// sweepNetworks makes the tree anew where a flag in it has ended.
func (g *Gate) sweepNetworks(now window.Instant) {
	if n := g.networks.Load(); n == nil || n.ends > now {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.updateNetworks(now)
}

// Holder returns the key of the flag by hand that decides for key under the rule called name because it
// is of a network that holds it; nil if there is none.
func (g *Gate) Holder(now window.Instant, name string, key []byte) []byte {
	n := g.networks.Load()
	if n == nil {
		return nil
	}
	if f := n.find(now, name, key); f != nil && !bytes.Equal(f.key, key) {
		return f.key
	}
	return nil
}

// findFlag returns the flag that decides for key under r: its own, or that of a network that holds it.
func (g *Gate) findFlag(now window.Instant, r *rule, key []byte) (mitigation.Flag, bool) {
	if holder := g.Holder(now, r.Name, key); holder != nil {
		if f, ok := g.flags.Find(now, r.meter.Index(holder)); ok {
			return f, true
		}
	}
	return g.flags.Find(now, r.meter.Index(key))
}
