package envoy

import (
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/headgate-dev/headgate/edge/rls"
	"github.com/headgate-dev/headgate/mitigation"
)

// window is the window of a limit as it is written.
type window struct {
	number int // of the unit
	days   int // in it; 0: a day or less
	unit   string
}

// longUnit records that the unit at a path is counted by the day.
const longUnit = "%s: a %s is longer than a window can be: %d a day"

// rule sets the rule of a limit.
func (l *loader) rule(limit *rls.Limit, m map[string]*yaml.Node, path string, w window) {
	limit.Unit = uint64(min(w.number, 4)) // 1..4
	if limit.PerUnit == 0 {
		return // nothing passes
	}
	at := m["rate_limit"]
	per := int64(limit.PerUnit)
	if w.days > 0 {
		// Rounded up: 10 a month is 1 a day and not 0, which would deny everybody.
		per = (per + int64(w.days) - 1) / int64(w.days)
		limit.PerUnit = uint32(per) // smaller than before
		l.note(at, longUnit, path, strings.ToLower(w.unit), per)
		if l.options.Warn != nil {
			l.options.Warn(l.at(at, longUnit, path, strings.ToLower(w.unit), per))
		}
	}
	if per > mitigation.MaxLimit {
		per = mitigation.MaxLimit
		l.note(at, "%s: the limit is cut to %d", path, per)
	}
	if len(l.tree.Rules) == mitigation.MaxTree {
		l.fault(at, "%s: more than %d descriptors have a limit", path, mitigation.MaxTree)
		return
	}
	name := rls.RuleName(path, "")
	// Two descriptors may have the same name once the bytes no rule's name may have are replaced.
	for n := 2; l.named[name]; n++ {
		name = rls.RuleName(fmt.Sprintf("%s-%d", path, n), "")
	}
	if l.named[name] = true; l.options.Taken[name] {
		l.fault(at, "%s: a rule is called %s already", path, name)
	}
	if len(l.tree.Rules) >= rls.MaxRows {
		l.tree.Rows[name] = rls.RuleName(l.domain, "") + "/*" // no rule is called so
	}
	r := mitigation.Rule{
		Name: name, Limit: per, Window: windows[limit.Unit],
		Scope: l.options.Scope,
	}
	if limit.Shadow || limit.Quota && l.options.Apart {
		r.Mode = mitigation.Shadow
	}
	limit.Rule = []byte(name)
	l.tree.Rules = append(l.tree.Rules, r)
}

// windows are the windows of units up to a day, by number.
var windows = [...]time.Duration{1: time.Second, 2: time.Minute, 3: time.Hour, 4: 24 * time.Hour}

// unitOf returns the number of a unit, 0 for none, and its days if longer than a day. In the order
// of the enumeration in Envoy's api.
func unitOf(name string) (number, days int) {
	switch strings.ToLower(name) {
	case "second":
		return 1, 0
	case "minute":
		return 2, 0
	case "hour":
		return 3, 0
	case "day":
		return 4, 0
	case "month":
		return 5, 30
	case "year":
		return 6, 365
	case "week":
		return 7, 7
	}
	return 0, 0
}

// replaces reads the names of the limits replaced by a limit.
func (l *loader) replaces(own string, list *yaml.Node) (names []string) {
	for _, item := range itemsOf(list) {
		switch name, ok := l.text(mapOf(item)["name"]); {
		case name == "" && ok:
			l.fault(item, "replaces names no limit")
		case name == own:
			l.fault(item, "a limit cannot replace itself")
		default:
			names = append(names, name)
		}
	}
	return names
}
