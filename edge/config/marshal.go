package config

import (
	"bytes"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Marshal returns c as the YAML of a headgate.yaml with every field, defaults too: the effective
// configuration. Parse makes an equal Config, if c is valid. Values are written in the units a
// person would use: 64MiB, 10s, not 67108864 and 10000000000.
func (c Config) Marshal() ([]byte, error) {
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(printed(c.fields())); err != nil {
		return nil, fmt.Errorf("config: write as YAML: %w", err)
	}
	if err := enc.Close(); err != nil {
		return nil, fmt.Errorf("config: write as YAML: %w", err)
	}
	// Policies are written as read, without comments: the compiled form of conditions is no YAML.
	out.WriteString(c.PolicyText)
	// The sections the file leaves out, as their defaults: Marshal promises every field.
	for _, name := range []string{"clients: {}", "sets: {}", "pools: []", "policies: []"} {
		if section, _, _ := strings.Cut(name,
			" "); !strings.Contains("\n"+c.PolicyText, "\n"+section) {
			out.WriteString(name + "\n")
		}
	}
	return out.Bytes(), nil
}

// JSON returns c as JSON: the names, the order and the values of Marshal's YAML, durations and
// sizes included as text. The JSON holds the paths of secret files, never their contents. Made from
// the YAML, for a single list of fields and spelling of values.
func (c Config) JSON() ([]byte, error) {
	text, err := c.Marshal()
	if err != nil {
		return nil, err
	}
	return JSONFromYAML(text)
}
