package config

import (
	"reflect"

	"github.com/headgate-dev/headgate/mitigation"
)

// Setting is a field of a rule and the value, both as in the file.
type Setting struct{ Name, Value string }

// Settings returns the fields of r differing from their defaults, in the order of Marshal. Never
// nil. The name, the limit and the window have no defaults and are left out. A list is written as
// [10m, 1h], and reserve as {gold: 20%}. Settings may be called concurrently.
func Settings(r mitigation.Rule) []Setting {
	usual := mitigation.Rule{
		Name: r.Name, Limit: r.Limit, Window: r.Window, Kind: r.Kind, Scale: r.Scale,
	}
	if r.Kind == mitigation.Concurrency {
		usual.Lease = defaultLease
	}
	all, of := []Setting{}, ruleFields(&usual)
	for i, f := range ruleFields(&r) {
		value := f.print()
		if !reflect.DeepEqual(value, of[i].print()) ||
			f.name == "kind" && r.Kind != mitigation.Window || f.name == "scale" && r.Scale > 0 {
			all = append(all, Setting{f.name, flow(nodeOf(value))})
		}
	}
	return all
}
