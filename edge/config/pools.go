package config

import (
	"slices"

	"github.com/headgate-dev/headgate/edge/config/document"
	"github.com/headgate-dev/headgate/edge/config/schema"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/pool"
)

// pools parses the list of pools, no two of the same name.
func pools(v value) ([]pool.Config, bool) {
	return listByName(v, pool.MaxPools, "pool", onePool)
}

// onePool parses a pool. All but the name has a default.
func onePool(v value) pool.Config {
	p := pool.Default()
	if !v.fields(poolFields(&p)) {
		return p
	}
	v.require("name")
	if _, given := v.d.given[join(v.path, "restore_below")]; !given {
		p.RestoreBelow = min(p.RestoreBelow, p.ShedAbove)
	}
	if p.RestoreBelow > p.ShedAbove && !v.d.bad[join(v.path, "restore_below")] &&
		!v.d.bad[join(v.path, "shed_above")] {
		v.d.given[join(v.path, "restore_below")].fault("is above shed_above: the level would " +
			"rise and fall at once")
	}
	return p
}

func poolFields(p *pool.Config) []field {
	return []field{
		leaf("name", set(&p.Name, name(mitigation.MaxRuleName))).like(ruleName, "",
			"The name by which loads and policies know the pool."),
		leaf("shed_above", set(&p.ShedAbove, share)).like(schema.Decimal(1), "0.85",
			"The share in use above which the level rises."),
		leaf("restore_below", set(&p.RestoreBelow, share)).like(schema.Decimal(1), "0.70",
			"The share in use below which the level falls."),
		leaf("order", set(&p.Order, order)).like(schema.List(1, pool.MaxTiers, ruleName),
			"[test, batch, normal]", "The tiers that are shed, the first one first."),
		leaf("up", set(&p.Up, levelStep)).like(schema.Percent(), "10%",
			"How far the level rises in a second."),
		leaf("down", set(&p.Down, levelStep)).like(schema.Percent(), "2%",
			"How far the level falls in a second."),
		leaf("stale", set(&p.Stale, duration(pool.MinStale, pool.MaxStale))).
			like(schema.Duration(), "10s", "How long a report of the load counts."),
	}
}

// share parses 0 to 1, in units of pool.Unit.
func share(v value) (int, bool) {
	return part(v, func(s string) (int, error) { return document.Share(s, pool.Unit) })
}

// levelStep parses a step of a level: 0.0001% to 100%.
func levelStep(v value) (int, bool) { return v.percent(pool.Unit, pool.Unit) }

// order parses the tiers a pool sheds, none twice.
func order(v value) ([]string, bool) {
	list, ok := listOf(pool.MaxTiers, name(mitigation.MaxRuleName))(v)
	for i, tier := range list {
		if tier != "" && slices.Contains(list[:i], tier) {
			v.fault("names %s twice", document.Show(tier))
			return nil, false
		}
	}
	if ok && len(list) == 0 {
		v.fault("is empty: without a tier in it nothing is ever shed")
	}
	return list, ok && len(list) > 0
}

// poolNames returns the names of c's pools, in the order of the file.
func (c *Config) poolNames() []string {
	var names []string
	for i := range c.Pools {
		names = append(names, c.Pools[i].Name)
	}
	return names
}
