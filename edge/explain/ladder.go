package explain

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// level is a rule of a ladder: the networks of so many bits. The zero level is a rule of clients.
// signin/24,56 is {24, 56}: the bits for IPv4 and for IPv6.
type level struct{ v4, v6 int }

// levelOf splits the name of a rule of a ladder, such as signin/24,56, into that of the rule it
// widens and its level; a name of another form is its own base. Rules of a ladder are known by
// their names alone, which the configuration makes.
func levelOf(name string) (base string, l level) {
	base, bits, found := strings.Cut(name, "/")
	if n, err := fmt.Sscanf(bits, "%d,%d", &l.v4, &l.v6); !found || err != nil || n != 2 {
		return name, level{}
	}
	return base, l
}

// network returns the network of l holding all of p; false if p is wider, or as wide. As wide is no
// wider: a key of a network is not in a network of itself.
func (l level) network(p netip.Prefix) (netip.Prefix, bool) {
	bits := l.v6
	if p.Addr().Is4() {
		bits = l.v4
	}
	if bits >= p.Bits() {
		return netip.Prefix{}, false
	}
	wide, err := p.Addr().Prefix(bits)
	return wide, err == nil
}

// addressOf reads the key of a client or of a network.
func addressOf(key []byte) (netip.Prefix, bool) {
	if a, err := netip.ParseAddr(string(key)); err == nil {
		return netip.PrefixFrom(a, a.BitLen()), true
	}
	p, err := netip.ParsePrefix(string(key))
	return p, err == nil
}

// levels returns the state of the networks key is in, where the rule called name is of a ladder:
// those wider than key, in the order of the configuration. They are asked in the same step, and
// each can deny.
func levels(
	g *gate.Gate, now window.Instant, u uint64, name string, key []byte,
) (all []api.LevelView) {
	client, ok := addressOf(key)
	if !ok {
		return nil
	}
	base, _ := levelOf(name)
	for wide := range g.RuleNames() {
		of, l := levelOf(wide)
		if of != base || l == (level{}) {
			continue
		}
		network, ok := l.network(client)
		if !ok {
			continue
		}
		// The text is the key by which the rule counts, so a look at it is a look at that key.
		text := network.String()
		is, ok := g.Inspect(now, u, wide, []byte(text), nil)
		if !ok || is.Rule.Siblings == 0 {
			continue
		}
		all = append(all, viewLevel(&is, text))
	}
	return all
}

// viewLevel returns a network as people are shown it.
func viewLevel(is *gate.Inspection, network string) api.LevelView {
	v := api.LevelView{
		Rule: is.Rule.Name, Key: network, Verdict: mitigation.Allow.String(),
		Used:     Amount(&is.Rule, is.Count.Used),
		Limit:    Amount(&is.Rule, is.Rule.Quota()),
		Siblings: api.SiblingsView{Asked: is.Siblings, Needed: is.Rule.Siblings},
	}
	if is.Decision.Deny {
		v.Verdict, v.Why = "deny", is.Decision.Why.String()
	}
	return v
}

// ladderSays names the networks whose limits deny a request of the key, whatever its own count;
// empty if none does.
func ladderSays(all []api.LevelView) string {
	var deny []string
	for _, v := range all {
		if v.Verdict == "deny" {
			deny = append(deny, fmt.Sprintf("its network %s is over its limit under %s (%v of %v "+
				"used, at least %d narrower keys "+
				"asked)", v.Key, v.Rule, v.Used, v.Limit, v.Siblings.Asked))
		}
	}
	if len(deny) == 0 {
		return ""
	}
	return "Whatever its own count, a request of it is denied: " +
		strings.Join(deny, ", and ") + "."
}
