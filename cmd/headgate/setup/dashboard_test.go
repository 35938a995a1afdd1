package setup

import (
	"os"
	"strings"
	"testing"
)

// TestDashboardNamesSnippets checks that the first steps on the dashboard have the command of every
// snippet.
func TestDashboardNamesSnippets(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../edge/web/assets/index.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range snippets {
		if command := "<code>headgate init " +
			s.name + "</code>"; !strings.Contains(string(page), command) {
			t.Errorf("not on the page: %s", command)
		}
	}
}
