package config

import (
	"bytes"
	"slices"
	"strings"

	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/edge/policy/condition"
	"github.com/headgate-dev/headgate/mitigation"
)

// lint warns of doubtful settings of c, a valid file.
func (d *decoder) lint(c *Config) {
	for _, f := range slices.Concat(policy.Doubts(&c.Policies), policy.Lint(&c.Policies, c.Rules)) {
		d.warnOf(f.Policy, f.Pos, f.Code, f.Message)
	}
	for _, p := range c.Policies.Clients.Trusted {
		if p.Bits() == 0 {
			d.given["clients.trusted"].warn("trusted-all", "trusts everybody: whoever sends "+
				"the header is the client in the header")
		}
	}
	d.lintXDS(c)
	apart := c.Gossip.KeyFile == "" && (len(c.Ring.Servers) > 0 || !c.Gossip.Bind.IsZero())
	answers := len(c.Listen.HTTP) + len(c.Listen.SPOP)
	doors := len(c.Listen.UDP) + answers
	if c.Headers != "" && answers == 0 {
		d.given["headers"].warn("no-door", "no listener sends headers: listen.http and spop do")
	}
	for i := range c.Policies.Policies {
		p := &c.Policies.Policies[i]
		if p.Mode == mitigation.Off {
			continue
		}
		if apart && p.Digests() {
			d.warnOf(p.Name, p.At, "digest-apart", "its keys are digests, and without "+
				"gossip.key_file each node makes others: nothing is counted together")
		}
		switch report, release := p.Needs(); {
		case doors > 0:
		case report:
			d.warnOf(p.Name, p.At, "no-door", "waits for the report of a response, which no "+
				"listener takes: listen.udp, http and spop do")
		case release:
			d.warnOf(p.Name, p.At, "no-door", "waits for the end of a request, which no "+
				"listener takes: listen.udp, http and spop do")
		}
	}
}

// warnOf warns of a policy, or of a set if name is empty.
func (d *decoder) warnOf(name string, at condition.Pos, code, message string) {
	if given, ok := d.given[at.Path]; ok && at.Path != "" {
		at.Line, at.Col = given.node.Line, given.node.Column
	}
	if name != "" {
		message = "policy " + name + ": " + message
	}
	d.warnAt(Fault{
		Line: at.Line, Col: at.Col, Path: at.Path, Message: message, Code: code, Policy: name,
	})
}

// without returns the warnings that no comment in data silences: # headgate: ignore CODE, on the
// line of the warning or alone on the line above.
func (fs Faults) without(data []byte) Faults {
	const comment = "# headgate: ignore "
	if !bytes.Contains(data, []byte(comment)) {
		return fs
	}
	lines := bytes.Split(data, []byte{'\n'})
	ignored := func(line int, code string, alone bool) bool {
		if line < 1 || line > len(lines) {
			return false
		}
		before, codes, found := strings.Cut(string(lines[line-1]), comment)
		return found && (!alone || strings.TrimSpace(before) == "") &&
			slices.Contains(strings.FieldsFunc(codes, func(r rune) bool {
				return r == ',' || r == ' ' || r == '\r'
			}), code)
	}
	return slices.DeleteFunc(fs, func(f Fault) bool {
		return ignored(f.Line, f.Code, false) || ignored(f.Line-1, f.Code, true)
	})
}
