//go:build soak && !race

package main

import "testing"

// TestSuggestSoakTrace is TestNodeSuggestsWithinItsBounds on the whole trace, in the memory that is the default.
func TestSuggestSoakTrace(t *testing.T) { checkNode(t, readTrace(t), 64<<20) }
