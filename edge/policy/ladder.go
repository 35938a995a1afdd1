package policy

import (
	"fmt"
	"net/netip"

	"github.com/headgate-dev/headgate/edge/policy/condition"
	"github.com/headgate-dev/headgate/mitigation"
)

// Level is a step of a ladder: the networks of so many bits, and how many times the limit of the
// same client each of them has. A level 24, 56, 4 gives each /24 four times the limit of an
// address: a botnet in a network is limited though each of its addresses stays below its own limit.
type Level struct {
	V4, V6 int // bits, 8..32 and 16..128
	Times  int64
}

// suffix returns the end of the names of the level's rules.
func (l Level) suffix() string { return fmt.Sprintf("/%d,%d", l.V4, l.V6) }

// part returns the part of a key for the level.
func (l Level) part() Part {
	return Part{
		kind: partPrefix, field: condition.Field{Kind: condition.Client},
		bits4: l.V4, bits6: l.V6,
	}
}

// Widened returns r and r's rules of p's ladder: NAME/24,56 with Times the limit of r. The name
// says which networks the rule counts, so metrics and blocks by hand can tell the levels apart.
func (p *Policy) Widened(r mitigation.Rule, siblings int) []mitigation.Rule {
	all := []mitigation.Rule{r}
	for _, l := range p.Ladder {
		wide := r
		wide.Name += l.suffix()
		wide.Limit, wide.Burst, wide.Siblings = r.Limit*l.Times, r.Burst*l.Times, siblings
		all = append(all, wide)
	}
	return all
}

// countsClients reports whether k is the client's address or network alone, and nothing else. Only
// then a network is the wider key of the policy's.
func (k *Key) countsClients() bool {
	return len(k.Parts) == 1 && len(k.Parts[0]) == 1 && k.Parts[0][0].kind == partPrefix &&
		k.Parts[0][0].set == ""
}

// ladder checks that each level of p's ladder is wider than the level before.
func (c *checker) ladder(p *Policy) {
	if len(p.Ladder) == 0 {
		return
	}
	if !p.Key.countsClients() {
		c.fault(under(p, "ladder"), "counts networks of clients, so the key must be client; here "+
			"it is %.64s", p.Key.String())
		return
	}
	before := Level{V4: c.spec.Clients.IPv4, V6: c.spec.Clients.IPv6, Times: 1}
	if part := &p.Key.Parts[0][0]; part.bits4 > 0 {
		before.V4, before.V6 = part.bits4, part.bits6
	}
	for i, l := range p.Ladder {
		at := under(p, fmt.Sprintf("ladder[%d]", i))
		switch {
		case l.V4 == 0 || l.V6 == 0 || l.Times == 0: // at fault by itself
			return
		case l.V4 > before.V4 || l.V6 > before.V6 || l.V4 == before.V4 && l.V6 == before.V6:
			c.fault(at, "must be wider than what it widens: of fewer bits than v4: %d, v6: %d",
				before.V4, before.V6)
		// A network with less than an address would be the limit of each, and the narrower rule
		// without effect.
		case l.Times < before.Times:
			c.fault(at, "times must be at least %d, that of the narrower networks: these would "+
				"never reach their limit", before.Times)
		}
		before = l
	}
}

// levels gives the rules of p their keys: the policy's own key, and of the levels of a ladder the
// networks, each with the network of the level before.
func (l *loader) levels(p *policy) {
	own, narrower := l.key(p, p.Key, p.MissingSkip), noKey
	keys := []int32{own}
	for _, level := range p.Ladder {
		keys = append(keys, l.key(p, Key{Parts: [][]Part{{level.part()}}}, p.MissingSkip))
	}
	p.stride = len(keys)
	for i := range p.rules {
		r := &p.rules[i]
		if r.key = keys[i%len(keys)]; i%len(keys) == 0 {
			narrower = noKey
		}
		r.narrower = narrower
		narrower = r.key
		r.draw = l.draw(p, i)
	}
}

// noKey is the number of no key.
const noKey int32 = -1

// others sets the keys of q beside the counted key.
func (w *walk) others(q *Question, rule *askedRule) {
	q.Narrower = w.out.builtKey(rule.narrower)
	if rule.draw < 0 {
		return
	}
	if q.ShedBy = w.out.builtKey(rule.draw); q.ShedBy == nil {
		if key := w.buildKey(rule.draw); len(key) > 0 {
			w.out.keep(rule.draw, len(key))
			q.ShedBy = key
		}
	}
}

// builtKey returns key number as built for the request; nil if not built.
func (out *Result) builtKey(number int32) []byte {
	if number < 0 || out.built[number>>6]>>(number&63)&1 == 0 {
		return nil
	}
	at := out.spans[number]
	return out.keys[at.at:at.end:at.end]
}

// AppendClient appends the text of a client as in key client.
func (e *Engine) AppendClient(dst []byte, a netip.Addr) []byte {
	return appendPrefix(dst, a, e.clients.IPv4, e.clients.IPv6)
}
