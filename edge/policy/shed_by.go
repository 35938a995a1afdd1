package policy

import (
	"errors"
	"fmt"
	"slices"

	"github.com/headgate-dev/headgate/edge/policy/condition"
)

// shedBy returns the part by which rule i of p draws its drop ratio; "" for each request.
// Rules come before the policy's own in a policy's list; a policy has one or the other.
func (s *Spec) shedBy(p *Policy, i int) string {
	if i < len(p.Rules) {
		return s.ShedBy[p.Rules[i]]
	}
	return p.Own[i-len(p.Rules)].ShedBy
}

// draw returns the key by which rule i of p draws its drop ratio, or noKey.
// skips: a request without that part is drawn for by itself, as one without shed_by.
func (l *loader) draw(p *policy, i int) int32 {
	text := l.spec.shedBy(p.Policy, i)
	if text == "" {
		return noKey
	}
	part, err := ParseKeyPart(text)
	if err != nil {
		return noKey // the configuration has checked it
	}
	return l.key(p, Key{Parts: [][]Part{part}}, true)
}

// ParseShedBy reads the part of a request by which a drop ratio is drawn, as a part of a key is
// read. "request" is "". Returns the canonical spelling, so two spellings of a part are the same
// text.
func ParseShedBy(text string) (string, error) {
	if text == "request" {
		return "", nil
	}
	part, err := ParseKeyPart(text)
	if err != nil {
		return "", err
	}
	for i := range part {
		if kind := part[i].kind; kind == partAll || kind == partPolicy {
			return "", errors.New("is the same for every request of the rule: name a part that " +
				"differs, such as client")
		}
	}
	k := Key{Parts: [][]Part{part}}
	return k.String(), nil
}

// shedBy checks that no rule of p draws by a part of the key: all requests of a key would be
// denied, or none.
func (c *checker) shedBy(p *Policy) {
	for i := range len(p.Rules) + len(p.Own) {
		text := c.spec.shedBy(p, i)
		draw, err := ParseKeyPart(text)
		if text == "" || err != nil {
			continue
		}
		at, who := under(p, "shed_by"), ""
		if i < len(p.Rules) {
			at, who = under(p, fmt.Sprintf("rules[%d]", i)), p.Rules[i]+" has shed_by "
		}
		for j := range draw {
			if draw[j].set != "" {
				c.set(at, draw[j].set, draw[j].field.IsAddress())
			}
		}
		if c.spec.decides(&p.Key, draw) {
			c.fault(at, "%s%.64s, which is part of the key %.64s: all requests of a key would be "+
				"denied, or none", who, text, p.Key.String())
		}
		return
	}
}

// decides reports whether a key says an alternative of draw.
func (s *Spec) decides(k *Key, draw []Part) bool {
	return slices.ContainsFunc(slices.Concat(k.Parts...), func(part Part) bool {
		return slices.ContainsFunc(draw, func(d Part) bool { return s.says(&part, &d) })
	})
}

// says reports whether part, as part of a key, says d. A part says another if who knows the first
// knows the second: an address says the network, three segments of a path say two.
func (s *Spec) says(part, d *Part) bool {
	switch {
	case d.kind == partPath:
		return part.kind == partPath && part.segments >= d.segments ||
			part.kind == partField && part.field.Kind == condition.Path
	case part.kind != d.kind:
		return false
	case d.kind == partPrefix:
		narrow4, narrow6 := s.bits(part)
		wide4, wide6 := s.bits(d)
		return narrow4 >= wide4 && narrow6 >= wide6
	}
	return part.field.String() == d.field.String()
}

// bits returns the bits of IPv4 and IPv6 of the client in part.
func (s *Spec) bits(part *Part) (v4, v6 int) {
	if part.bits4 > 0 {
		return part.bits4, part.bits6
	}
	return s.Clients.IPv4, s.Clients.IPv6
}
