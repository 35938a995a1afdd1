//go:build soak && !race

package replay

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
)

// TestSuggestSoakTrace is TestNodeSuggestsWithinItsBounds on a whole log, in the memory that is the
// default.
func TestSuggestSoakTrace(t *testing.T) {
	rule := mitigation.Rule{Name: "r", Limit: 20, Window: time.Minute, Mode: mitigation.Shadow}
	checkNode(t, rule, readTrace(t, filepath.Join(wholeTraces(t), "web_blog_2016.tsv.gz")), 64<<20)
}

// TestReplaySuggestSoakTrace is TestReplaySuggestsExactly on a whole log.
func TestReplaySuggestSoakTrace(t *testing.T) {
	checkSuggestions(t, filepath.Join(wholeTraces(t), "web_blog_2016.tsv.gz"))
}
