//go:build soak && !race

package main

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
)

// TestSuggestSoakTrace is TestNodeSuggestsWithinItsBounds on the whole trace, in the memory that is the default.
func TestSuggestSoakTrace(t *testing.T) {
	rule := mitigation.Rule{Name: "r", Limit: 20, Window: time.Minute, Mode: mitigation.Shadow}
	checkNode(t, rule, readTrace(t), 64<<20)
}
