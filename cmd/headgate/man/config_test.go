package man_test

import (
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/man"
	"github.com/headgate-dev/headgate/edge/config/reference"
)

// TestConfigMarkdown checks that the page has every field, is short enough to read, and has no line
// that is too long but those of facts, which are one line each.
func TestConfigMarkdown(t *testing.T) {
	page := man.ConfigMarkdown()
	for _, s := range reference.All() {
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
