package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/clitest"
	"github.com/headgate-dev/headgate/edge/config"
)

// TestConfigurationPage keeps docs/configuration.md the page that edge/config's reference makes.
func TestConfigurationPage(t *testing.T) {
	clitest.CompareGolden(t, "../../docs/configuration.md", configMarkdown())
}

// TestSchemaFile keeps deploy/headgate.schema.json what `headgate config schema` prints.
func TestSchemaFile(t *testing.T) {
	clitest.CompareGolden(t, "../../deploy/headgate.schema.json", string(config.Schema()))
}

// TestConfigMarkdown checks that the page has every field, is short enough to read, and has no line
// that is too long but those of facts, which are one line each.
func TestConfigMarkdown(t *testing.T) {
	page := configMarkdown()
	for _, s := range config.Reference() {
		if !strings.Contains(page, "\n## "+s.Title+"\n") {
			t.Errorf("no section %q", s.Title)
		}
		for _, f := range s.Fields {
			if !strings.Contains(page, "\n- **`"+f.Path+"`** · "+f.Values+" · ") {
				t.Errorf("no %s", f.Path)
			}
		}
	}
	if lines := strings.Count(page, "\n"); lines > 200 {
		t.Errorf("%d lines, want at most 200", lines)
	}
	for line := range strings.Lines(page) {
		if len([]rune(line)) > 231 && !strings.HasPrefix(line, "- **") {
			t.Errorf("too long: %s", line)
		}
	}
}

// width is that of a line of Markdown, in characters.
const width = 230

// configMarkdown returns docs/configuration.md, which has the same source as headgate.yaml(5).
func configMarkdown() string {
	var b strings.Builder
	b.WriteString("# Configuration\n\n<!-- Made from edge/config by `make golden`: " +
		"edit there. headgate.yaml(5) is the same. -->\n\n")
	b.WriteString(wrapped(configIntro, ""))
	b.WriteString("\n[`deploy/headgate.yaml`](../deploy/headgate.yaml) has every field at its " +
		"default. Each field has its values, " +
		"its default, and \"restart\" where a reload does not change it.\n")
	for _, s := range config.Reference() {
		fmt.Fprintf(&b, "\n## %s\n", s.Title)
		if s.Text != "" {
			b.WriteString("\n" + wrapped(s.Text, ""))
		}
		for _, f := range s.Fields {
			fmt.Fprintf(&b, "- **`%s`** · %s\\\n%s", f.Path, facts(f), wrapped(f.Meaning, "  "))
		}
	}
	b.WriteString("\n## Reloading\n\n" + wrapped(reloadText, ""))
	return b.String()
}

// wrapped returns text as Markdown in lines of at most width characters, each after indent.
func wrapped(text, indent string) string {
	var b strings.Builder
	for i, paragraph := range strings.Split(text, "\n\n") {
		if i > 0 {
			b.WriteString("\n")
		}
		if strings.HasPrefix(paragraph, "  ") {
			b.WriteString("```yaml\n" + strings.ReplaceAll(paragraph[2:], "\n  ", "\n") + "\n```\n")
			continue
		}
		b.WriteString(filled(paragraph, indent))
	}
	return b.String()
}

// filled returns one paragraph in lines.
func filled(paragraph, indent string) string {
	var b strings.Builder
	line := indent
	for word := range strings.FieldsSeq(paragraph) {
		if line != indent && len([]rune(line))+1+len([]rune(word)) > width {
			b.WriteString(line + "\n")
			line = indent
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	return b.String() + line + "\n"
}
