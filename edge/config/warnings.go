package config

import (
	"fmt"
	"strings"

	"github.com/headgate-dev/headgate/mitigation"
)

// maxNamed is how many rules one warning names before it only counts them.
const maxNamed = 5

// Warnings says, a sentence each, what c asks for that this build accepts and does not do yet. The
// order is that of the file; nil means that everything is in force.
func Warnings(c Config) []string {
	var list []string
	if !c.Gossip.Bind.IsZero() {
		list = append(list, "gossip.bind: not in force yet, this node gossips with nobody")
	}
	return append(list, narrower(c)...)
}

// narrower says which rules count over less than their scope.
func narrower(c Config) (list []string) {
	where, view := "on this node alone", mitigation.Node
	if len(c.Ring.Servers) > 0 {
		where, view = "over this node's PoP alone", mitigation.PoP
	}
	for scope := view + 1; scope <= mitigation.Global; scope++ {
		if names := named(c.Rules, scope); len(names) > 0 {
			list = append(list, fmt.Sprintf("rules: scope %s counts %s; view=%s (%s)", scope, where, view, few(names)))
		}
	}
	return list
}

// named returns the names of the rules with scope that count at all.
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
