package config

import (
	"fmt"
	"strings"

	"github.com/headgate-dev/headgate/mitigation"
)

// maxNamed is how many rules a warning names before only counting.
const maxNamed = 5

// ScopeWarnings returns sentences naming the rules of c which count over less than their scope,
// because there is no ring or no gossip. nil means every rule counts over the whole scope.
func ScopeWarnings(c *Config) (list []string) {
	where, view := "on this node alone", mitigation.Node
	if len(c.Ring.Servers) > 0 {
		where, view = "over this node's PoP alone", mitigation.PoP
	}
	for scope := view + 1; scope <= mitigation.Global; scope++ {
		lacks := "ring.servers"
		if scope == mitigation.Global {
			lacks = "gossip.bind"
			if !c.Gossip.Bind.IsZero() {
				continue // a node without a ring reports by itself
			}
		}
		if names := named(c.Rules, scope); len(names) > 0 {
			list = append(list, fmt.Sprintf("rules: scope %s counts %s without %s; view=%s (%s)",
				scope, where, lacks, view, few(names)))
		}
	}
	return list
}

// named returns the names of the rules with scope counting at all.
func named(rules []mitigation.Rule, scope mitigation.Scope) []string {
	var names []string
	for _, r := range rules {
		if r.Scope == scope && r.Mode != mitigation.Off {
			names = append(names, r.Name)
		}
	}
	return names
}

func few(names []string) string {
	if len(names) <= maxNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
}
