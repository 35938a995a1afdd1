package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/headgate-dev/headgate/edge/config/document"
	"github.com/headgate-dev/headgate/mitigation"
)

// Setting is one field of a rule and its value, both as the file has them.
type Setting struct{ Name, Value string }

// Settings returns the fields of r that differ from their defaults, in the order of Marshal. It
// never returns nil. The name, the limit and the window have no defaults and are left out. A list
// is written as [10m, 1h], and reserve as {gold: 20%}. Settings may be called concurrently.
func Settings(r mitigation.Rule) []Setting {
	usual := mitigation.Rule{Name: r.Name, Limit: r.Limit, Window: r.Window, Kind: r.Kind}
	if r.Kind == mitigation.Concurrency {
		usual.Lease = defaultLease
	}
	is, def := reflect.ValueOf(ruleShapeOf(r)), reflect.ValueOf(ruleShapeOf(usual))
	all := []Setting{}
	for i := range is.NumField() {
		name, _, _ := strings.Cut(is.Type().Field(i).Tag.Get("yaml"), ",")
		value := is.Field(i).Interface()
		changed := !reflect.DeepEqual(value, def.Field(i).Interface())
		if changed || name == "kind" && r.Kind != mitigation.Window {
			all = append(all, Setting{name, settingText(value)})
		}
	}
	return all
}

// settingText returns a value of a ruleShape as the file has it in one line.
func settingText(value any) string {
	switch value := value.(type) {
	case []string:
		return "[" + strings.Join(value, ", ") + "]"
	case shares:
		parts := make([]string, len(value))
		for i, share := range value {
			parts[i] = share.Tier + ": " + document.PercentText(share.Part, mitigation.Whole)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return fmt.Sprint(value)
}
