package config

import (
	"fmt"
	"strings"
)

// Changed returns what c has beside Default, as golden files hold it: a line for each field and
// each
// rule, and the policies.
func Changed(c Config) []byte {
	var b strings.Builder
	def := Default()
	var usual []*field
	leavesOf(def.fields(), "", func(_ string, f *field) { usual = append(usual, f) })
	leavesOf(c.fields(), "", func(path string, f *field) {
		if f.print != nil {
			if is := flow(nodeOf(f.print())); is != flow(nodeOf(usual[0].print())) {
				fmt.Fprintf(&b, "%s: %s\n", path, is)
			}
		}
		usual = usual[1:]
	})
	for _, r := range c.Rules {
		fmt.Fprintf(&b, "rule %s: %d per %s", r.Name, r.Limit, r.Window)
		for _, s := range Settings(r) {
			fmt.Fprintf(&b, ", %s: %s", s.Name, s.Value)
		}
		b.WriteString("\n")
	}
	return []byte(b.String() + c.PolicyText)
}
