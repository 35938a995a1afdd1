package document

import (
	"bytes"

	"go.yaml.in/yaml/v3"
)

// Sections returns the named sections of root that are not empty as YAML, in the order of names. It
// removes from root the comments standing below something: read again, they would stand above the
// next section.
func Sections(root *yaml.Node, names ...string) string {
	var out bytes.Buffer
	for _, name := range names {
		for i := 0; i+1 < len(root.Content); i += 2 {
			if root.Content[i].Value != name || len(root.Content[i+1].Content) == 0 {
				continue
			}
			section := &yaml.Node{
				Kind:    yaml.MappingNode,
				Content: []*yaml.Node{root.Content[i], root.Content[i+1]},
			}
			unfoot(section)
			enc := yaml.NewEncoder(&out)
			enc.SetIndent(2)
			_ = enc.Encode(section) // a tree read can be written
			_ = enc.Close()
		}
	}
	return out.String()
}

// unfoot removes the comments below n and below all that is in it.
func unfoot(n *yaml.Node) {
	n.FootComment = ""
	for _, c := range n.Content {
		unfoot(c)
	}
}
