package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// JSONFromYAML returns a configuration that Marshal wrote as JSON: the same names, order and
// values.
func JSONFromYAML(text []byte) ([]byte, error) {
	var file yaml.Node
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("config: write as JSON: %w", err)
	}
	var out bytes.Buffer
	if err := appendJSON(&out, file.Content[0]); err != nil {
		return nil, fmt.Errorf("config: write as JSON: %w", err)
	}
	return out.Bytes(), nil
}

// appendJSON writes n and everything below. By YAML's nodes and not by a map, which would lose the
// order of the fields.
func appendJSON(out *bytes.Buffer, n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		return appendScalar(out, n)
	}
	brackets := "[]"
	if n.Kind == yaml.MappingNode {
		brackets = "{}"
	}
	out.WriteByte(brackets[0])
	for i, child := range n.Content {
		switch {
		case i > 0 && n.Kind == yaml.MappingNode && i%2 == 1:
			out.WriteByte(':')
		case i > 0:
			out.WriteByte(',')
		}
		if err := appendJSON(out, child); err != nil {
			return err
		}
	}
	out.WriteByte(brackets[1])
	return nil
}

// appendScalar writes a number, true and false unchanged and everything else as a string.
func appendScalar(out *bytes.Buffer, n *yaml.Node) error {
	// Only Marshal's own text comes here: durations, sizes and words are texts, and numbers are
	// whole.
	if n.Tag == "!!int" || n.Tag == "!!bool" {
		out.WriteString(n.Value)
		return nil
	}
	text, err := json.Marshal(n.Value)
	out.Write(text)
	return err
}

// YAMLFromJSON returns the YAML of a configuration that JSON wrote, possibly in another version of
// this program: fields unknown here are kept, in order.
func YAMLFromJSON(text []byte) ([]byte, error) {
	var file yaml.Node
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("config: read JSON: %w", err)
	}
	if file.Kind != yaml.DocumentNode || file.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("config: read JSON: no configuration")
	}
	// JSON is YAML with braces and quotes: nothing has to be translated but the style.
	unstyle(file.Content[0], false)
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(&file); err != nil {
		return nil, fmt.Errorf("config: write as YAML: %w", err)
	}
	return out.Bytes(), enc.Close()
}

// unstyle removes the braces and quotes of JSON from n and everything below. The lists of the field
// listen stay on a line each, as from Marshal.
func unstyle(n *yaml.Node, flow bool) {
	n.Style = 0
	if flow && n.Kind == yaml.SequenceNode {
		n.Style = yaml.FlowStyle
	}
	for i, child := range n.Content {
		unstyle(child, flow || n.Kind == yaml.MappingNode && i%2 == 1 &&
			n.Content[i-1].Value == "listen")
	}
}
