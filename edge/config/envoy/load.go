package envoy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/headgate-dev/headgate/edge/rls"
	"github.com/headgate-dev/headgate/mitigation"
)

// Bounds of all files together.
const (
	// A few lines of aliases can stand for billions of values ("billion laughs"), so they are
	// counted where they are repeated.
	maxNodes = 400_000 // of YAML, those that aliases repeat counted each time
	maxDepth = 64
)

// File is a file, or a resource of a management server.
type File struct {
	Name  string // of a resource: none
	Data  []byte
	Proto bool // Data is a RateLimitConfig of ratelimit.config.ratelimit.v3
}

// Fault is a thing wrong with a file, and where.
type Fault struct {
	File      string // of a resource: resource and its name
	Line, Col int    // from 1; of a resource 0
	Message   string // of a resource with the place
}

// Options choose how limits are translated.
type Options struct {
	// a week, a month and a year are a seventh, a thirtieth and a 365th a day; else a fault
	LongUnits bool
	Scope     mitigation.Scope
	// the rules are for descriptors naming them: properties they cannot have are noted, too
	Apart bool
	Note  func(Fault)     // is told the fields with another meaning here than there; nil: nobody is
	Taken map[string]bool // names other rules have
	Warn  func(Fault)     // is told of each unit counted by the day; nil: nobody is
}

// Load reads all files. With faults, in the order of files and lines, there is no tree. All files
// make a tree, as in envoyproxy/ratelimit: a domain is in a file, and a service asks by its name.
func Load(files []File, o Options) (*rls.Tree, []Fault) {
	l := &loader{
		tree: &rls.Tree{
			Domains: map[string]*rls.Node{}, Rows: map[string]string{}, Streamed: map[string]bool{},
		},
		options: o, named: map[string]bool{},
	}
	for _, f := range files {
		l.file, l.proto = f.Name, f.Proto
		from := len(l.faults)
		if f.Proto {
			l.readProto(f.Data)
		} else {
			l.read(f.Data)
		}
		slices.SortStableFunc(l.faults[from:],
			func(a, b Fault) int {
				return cmp.Or(cmp.Compare(a.Line, b.Line),
					cmp.Compare(a.Col, b.Col))
			})
	}
	if len(l.faults) > 0 {
		return nil, l.faults
	}
	return l.tree, nil
}

// loader is the tree that grows.
type loader struct {
	tree    *rls.Tree
	options Options
	file    string
	proto   bool // the file is a resource
	domain  string
	faults  []Fault
	nodes   int
	named   map[string]bool // names of rules
}

// fault records a fault at n.
func (l *loader) fault(n *yaml.Node, format string, args ...any) {
	// A file that is no configuration at all has a fault on each line; nobody reads more than the
	// first of them.
	if len(l.faults) < 1000 {
		l.faults = append(l.faults, l.at(n, format, args...))
	}
}

// at returns a Fault at n.
func (l *loader) at(n *yaml.Node, format string, args ...any) Fault {
	f := Fault{l.file, max(n.Line, 1), max(n.Column, 1), fmt.Sprintf(format, args...)}
	if l.proto {
		f.Line, f.Col = 0, 0
		if n.HeadComment != "" {
			f.Message = n.HeadComment + ": " + f.Message
		}
	}
	return f
}

// note records a field that means something else here. Notes are for headgate import, which shows
// them beside the rules it writes.
func (l *loader) note(n *yaml.Node, format string, args ...any) {
	if l.options.Note != nil {
		l.options.Note(l.at(n, format, args...))
	}
}

// read reads a file into the tree.
func (l *loader) read(data []byte) {
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		l.fault(&yaml.Node{}, "%s", strings.TrimPrefix(err.Error(), "yaml: "))
		return
	}
	if len(document.Content) == 0 {
		l.fault(&yaml.Node{}, "the file is empty: it has no domain")
		return
	}
	root := document.Content[0]
	// A file with a fault in its form is not read any further: the meaning of its values is not
	// known.
	if before := len(l.faults); !l.check(root, 0) || len(l.faults) > before {
		return
	}
	l.tell(root, list{items: itemsOf(mapOf(root)["descriptors"])})
}

// readProto reads a resource into the tree.
func (l *loader) readProto(data []byte) {
	root := l.message(data, configShape, "")
	name, _ := l.text(mapOf(root)["name"])
	l.file = fmt.Sprintf("resource %.200q", name)
	for i := range l.faults { // of the root, before the name was known
		l.faults[i].File = cmp.Or(l.faults[i].File, l.file)
	}
	l.tell(root, list{message: data, field: fieldOfConfig})
}

// tell adds the domain in root, with its descriptors.
func (l *loader) tell(root *yaml.Node, descriptors list) {
	at := mapOf(root)["domain"]
	domain, _ := l.text(at)
	switch before := l.tree.Domains[domain]; {
	case domain == "" && l.proto:
		l.fault(root, "there is no domain")
		return
	case domain == "":
		l.fault(root, "the file has no domain")
		return
	case before != nil && l.proto && !l.tree.Streamed[domain]:
		l.fault(at, "domain %q is in rls.files", domain)
		return
	case before != nil && l.proto:
		l.fault(at, "domain %q is in a resource before", domain)
		return
	case before != nil:
		l.fault(at, "the domain %q is in a file before", domain)
		return
	}
	node := new(rls.Node)
	l.tree.Domains[domain], l.domain = node, domain
	if l.proto {
		l.tree.Streamed[domain] = true
	}
	l.descriptors(node, domain+".", descriptors)
}

// descriptors adds the descriptors in from below parent. path is their name so
// far. A descriptor is known by key_value, or by key alone for any value; a star in it stands for
// any bytes.
func (l *loader) descriptors(parent *rls.Node, path string, from list) {
	for item, below := range l.all(from) {
		m := mapOf(item)
		key, ok := l.text(m["key"])
		value, _ := l.text(m["value"])
		if key == "" {
			if ok {
				l.fault(item, "the descriptor has no key")
			}
			continue
		}
		// The join by "_" is theirs, and so is what follows: key a_b without a value and key a with
		// value b are the same descriptor there.
		full := key
		if value != "" {
			full += "_" + value
		}
		node, ok := parent.Add(full)
		if !ok {
			l.fault(item, "the descriptor %q is there already", path+full)
			continue
		}
		l.descriptor(node, m, path+full)
		l.apart(m, full, path+full)
		if l.flag(m["share_threshold"]) {
			if !strings.Contains(full, "*") {
				l.fault(m["share_threshold"], "share_threshold is for values with a *")
			}
			node.Shared = []byte(full)
		}
		l.descriptors(node, path+full+".", below)
	}
}

// descriptor sets the limit of a descriptor from its fields.
// The two flags about metrics are read for their faults alone.
func (l *loader) descriptor(node *rls.Node, m map[string]*yaml.Node, path string) {
	shadow, quota := l.flag(m["shadow_mode"]), l.flag(m["quota_mode"])
	l.flag(m["detailed_metric"])
	l.flag(m["value_to_metric"])
	at := m["rate_limit"]
	if at == nil || isNull(at) {
		return
	}
	limit := &rls.Limit{Shadow: shadow, Quota: quota}
	if n := m["metadata"]; !isNull(n) {
		value, _ := l.free(n, 0)
		limit.Metadata, _ = value.(map[string]any)
	}
	fields := mapOf(at)
	limit.Unlimited = l.flag(fields["unlimited"])
	limit.PerUnit = l.number(fields["requests_per_unit"])
	limit.Name, _ = l.text(fields["name"])
	limit.Replaces = l.replaces(limit.Name, fields["replaces"])
	unit, _ := l.text(fields["unit"])
	number, days := unitOf(unit)
	switch {
	case limit.Unlimited && number != 0:
		l.fault(fields["unit"], "an unlimited descriptor has no unit")
		return
	case limit.Unlimited:
	case number == 0:
		l.fault(cmp.Or(fields["unit"], at), "the unit is second, minute, hour or day, not %q", unit)
		return
	case days > 0 && !l.options.LongUnits:
		l.fault(fields["unit"], "a window is at most a day here: rls.long_units: day makes a %s "+
			"a part of it a day", strings.ToLower(unit))
		return
	default:
		l.rule(limit, m, path, window{number, days, unit})
	}
	node.Limit = limit
}

// apart notes the properties of a descriptor a rule by itself cannot have.
func (l *loader) apart(m map[string]*yaml.Node, full, path string) {
	if !l.options.Apart {
		return
	}
	limit := mapOf(m["rate_limit"])
	if strings.Contains(full, "*") {
		l.note(m["key"], "%s: a wildcard is not in a rule: name the rule for the values that it "+
			"matches", path)
	}
	if !isNull(m["metadata"]) {
		l.note(m["metadata"], "%s: metadata is not in a rule", path)
	}
	if len(itemsOf(limit["replaces"])) > 0 {
		l.note(limit["replaces"], "%s: replaces is not in a rule: send only the descriptor that "+
			"is to hold", path)
	}
	if l.flag(m["quota_mode"]) && !isNull(m["rate_limit"]) {
		l.note(m["quota_mode"], "%s: quota_mode is not in a rule: the rule is in shadow and "+
			"denies nothing", path)
	}
	switch {
	case isNull(m["rate_limit"]):
	case l.flag(limit["unlimited"]):
		l.note(m["rate_limit"], "%s: unlimited makes no rule: leave the descriptor out", path)
	case l.number(limit["requests_per_unit"]) == 0:
		l.note(m["rate_limit"], "%s: a limit of 0 makes no rule: deny by a policy", path)
	}
}
