package config

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/headgate-dev/headgate/edge/config/document"
	"github.com/headgate-dev/headgate/mitigation"
)

// The shape in which a Config is written: every field, in the order of the documentation.
type (
	// The library writes the fields of a struct in their order, which is why this is not a map. A
	// test reads the output and compares the two configurations.
	fileShape struct {
		Node           string      `yaml:"node"`
		PoP            string      `yaml:"pop"`
		Listen         listenShape `yaml:"listen"`
		TLS            tlsShape    `yaml:"tls"`
		RESP           respShape   `yaml:"resp"`
		RLS            rlsShape    `yaml:"rls"`
		AdminTokenFile string      `yaml:"admin_token_file"`
		Memory         string      `yaml:"memory"`
		StateDir       string      `yaml:"state_dir"`
		Ring           ringShape   `yaml:"ring"`
		Gossip         gossipShape `yaml:"gossip"`
		Tickets        ticketShape `yaml:"tickets"`
		Rules          []ruleShape `yaml:"rules"`
	}
	listenShape struct {
		UDP   []string `yaml:"udp,flow"`
		HTTP  []string `yaml:"http,flow"`
		Admin []string `yaml:"admin,flow"`
		GRPC  []string `yaml:"grpc,flow"`
		SPOP  []string `yaml:"spop,flow"`
		RESP  []string `yaml:"resp,flow"`
	}
	respShape struct {
		Rule         string `yaml:"rule"`
		PasswordFile string `yaml:"password_file"`
	}
	rlsShape struct {
		Files     []string `yaml:"files,flow"`
		LongUnits string   `yaml:"long_units"`
		Metadata  bool     `yaml:"dynamic_metadata"`
		Headers   string   `yaml:"headers"`
	}
	tlsShape struct {
		CertFile     string `yaml:"cert_file"`
		KeyFile      string `yaml:"key_file"`
		ClientCAFile string `yaml:"client_ca_file"`
		Clients      string `yaml:"clients"`
	}
	ringShape struct {
		Servers []string `yaml:"servers"`
		Flush   string   `yaml:"flush"`
		Timeout string   `yaml:"timeout"`
	}
	gossipShape struct {
		Bind    string   `yaml:"bind"`
		Join    []string `yaml:"join"`
		KeyFile string   `yaml:"key_file"`
	}
	ticketShape struct {
		Keep string `yaml:"keep"`
	}
	ruleShape struct {
		Name        string `yaml:"name"`
		Limit       int64  `yaml:"limit"`
		Window      string `yaml:"window,omitempty"`
		Scope       string `yaml:"scope"`
		Action      string `yaml:"action"`
		BlockFor    any    `yaml:"block_for,flow"` // a text, or a list of them
		ForgetAfter string `yaml:"forget_after"`
		Mode        string `yaml:"mode"`
		FailureMode string `yaml:"failure_mode"`
		Fairness    string `yaml:"fairness"`
		Kind        string `yaml:"kind"`
		Lease       string `yaml:"lease"`
		Reserve     shares `yaml:"reserve"`
		Burst       int64  `yaml:"burst"`
		Delay       string `yaml:"delay"`
		Counts      string `yaml:"counts"`
		MaxBlast    int    `yaml:"max_blast"`
		ShedBy      string `yaml:"shed_by"`
		Epoch       string `yaml:"epoch"`
		RetrySpread string `yaml:"retry_spread"`
	}
)

// Marshal returns c as the YAML of a headgate.yaml with every field, defaults too: the effective
// configuration. Parse makes an equal Config of it, if c is valid.
// Values are written in the units that a person would use: 64MiB, 10s, not 67108864 and
// 10000000000.
func (c Config) Marshal() ([]byte, error) {
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(c.shape()); err != nil {
		return nil, fmt.Errorf("config: write as YAML: %w", err)
	}
	if err := enc.Close(); err != nil {
		return nil, fmt.Errorf("config: write as YAML: %w", err)
	}
	// Policies are written as they were read, without their comments: the compiled form of
	// conditions is no YAML.
	out.WriteString(c.PolicyText)
	// The sections that the file leaves out, as their defaults: Marshal promises every field.
	for _, name := range []string{"clients: {}", "sets: {}", "pools: []", "policies: []"} {
		if section, _, _ := strings.Cut(name, " "); !strings.Contains("\n"+c.PolicyText, "\n"+section) {
			out.WriteString(name + "\n")
		}
	}
	return out.Bytes(), nil
}

// JSON returns c as JSON: the names, the order and the values of Marshal's YAML, durations and
// sizes included as text. It holds the paths of secret files, never their contents. It is made from
// the YAML so that there is one list of fields, and one spelling of values, for both.
func (c Config) JSON() ([]byte, error) {
	text, err := c.Marshal()
	if err != nil {
		return nil, err
	}
	return JSONFromYAML(text)
}

func (c Config) shape() fileShape {
	long := longUnits[0]
	if c.RLS.LongUnits {
		long = longUnits[1]
	}
	return fileShape{
		Node: c.Node,
		PoP:  c.PoP,
		Listen: listenShape{
			UDP:   words(c.Listen.UDP),
			HTTP:  words(c.Listen.HTTP),
			Admin: words(c.Listen.Admin),
			GRPC:  words(c.Listen.GRPC),
			SPOP:  words(c.Listen.SPOP),
			RESP:  words(c.Listen.RESP),
		},
		TLS:  tlsShape(c.TLS),
		RESP: respShape(c.RESP),
		// Not nil, which would be written as null, which Parse does not take.
		RLS:            rlsShape{append([]string{}, c.RLS.Files...), long, c.RLS.Metadata, cmp.Or(c.RLS.Headers, rlsHeaders[0])},
		AdminTokenFile: c.AdminTokenFile,
		Memory:         document.InUnits(c.Memory),
		StateDir:       c.StateDir,
		Ring: ringShape{
			Servers: words(c.Ring.Servers),
			Flush:   document.Brief(c.Ring.Flush),
			Timeout: document.Brief(c.Ring.Timeout),
		},
		Gossip: gossipShape{
			Bind:    c.Gossip.Bind.String(),
			Join:    words(c.Gossip.Join),
			KeyFile: c.Gossip.KeyFile,
		},
		Tickets: ticketShape{Keep: document.Brief(c.TicketKeep)},
		Rules:   shapes(c.Rules),
	}
}

func shapes(rules []mitigation.Rule) []ruleShape {
	list := make([]ruleShape, len(rules))
	for i, r := range rules {
		list[i] = ruleShapeOf(r)
	}
	return list
}

func ruleShapeOf(r mitigation.Rule) ruleShape {
	s := ruleShape{
		Name: r.Name, Limit: r.Limit, Window: document.Brief(r.Window), Scope: r.Scope.String(),
		Action: r.Action.String(), BlockFor: document.Brief(r.BlockFor), ForgetAfter: document.Brief(mitigation.DefaultForget),
		Mode: r.Mode.String(), FailureMode: r.FailureMode.String(), Fairness: r.Fairness.String(),
		Kind: r.Kind.String(), Lease: document.Brief(r.Lease), Reserve: r.Reserve, Burst: r.Burst, Delay: document.Brief(r.Delay), Counts: r.Counts.String(),
	}
	s.MaxBlast = r.MaxBlast
	s.RetrySpread = spreadText(r.RetrySpread)
	// In a Rule the defaults are zero, so that a decision need not look further than one
	// comparison; in the file they have names.
	s.ShedBy, s.Epoch = "request", document.Brief(mitigation.DefaultEpoch)
	if r.ShedBy != "" {
		s.ShedBy, s.Epoch = r.ShedBy, document.Brief(r.Epoch)
	}
	if steps := r.Ladder.Steps; len(steps) > 0 {
		s.BlockFor, s.ForgetAfter = briefs(steps), document.Brief(r.Ladder.Forget)
	}
	// It has none, and Parse says so to whoever writes one: it is left out.
	if r.Kind == mitigation.Concurrency {
		s.Window = ""
	}
	return s
}

func briefs(all []time.Duration) []string {
	out := make([]string, len(all))
	for i, d := range all {
		out[i] = document.Brief(d)
	}
	return out
}

func words[T fmt.Stringer](list []T) []string {
	out := make([]string, len(list))
	for i, x := range list {
		out[i] = x.String()
	}
	return out
}
