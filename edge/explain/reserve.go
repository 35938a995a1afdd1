package explain

import (
	"fmt"
	"strings"

	"github.com/headgate-dev/headgate/edge/api"
)

// reserved reports whether a request without a tier is denied only because of the parts of the
// limit kept for some tiers.
func (c *explanation) reserved() bool {
	kept := c.Rule.Reserved(nil)
	return kept > 0 && !c.denied() && c.Count.Used < c.Rule.Quota() &&
		c.Count.Used+1 > c.Rule.Quota()-kept
}

// viewReserve returns the room of each tier with a part of the limit, in order, and last that of
// the others; nil where nothing is kept.
func (c *explanation) viewReserve() (all []api.KeyReserveView) {
	if len(c.Rule.Reserve) == 0 {
		return nil
	}
	add := func(tier string) {
		most := c.Rule.Quota() - c.Rule.Reserved([]byte(tier))
		all = append(all, api.KeyReserveView{
			Tier: tier, Most: c.amount(most), Left: c.amount(max(0, most-c.Count.Used)),
		})
	}
	for _, share := range c.Rule.Reserve {
		add(share.Tier)
	}
	add("")
	return all
}

// reserveSays states the room of each tier; empty where nothing is kept for any.
func (c *explanation) reserveSays() string {
	var parts []string
	for _, r := range c.viewReserve() {
		who := "requests of tier " + r.Tier
		if r.Tier == "" {
			who = "all others"
		}
		parts = append(parts, fmt.Sprintf("%s have room for %v (up to %v)", who, r.Left, r.Most))
	}
	if len(parts) == 0 {
		return ""
	}
	return "Parts of the limit are reserved: " + strings.Join(parts, ", ") + "."
}
