package counts_test

import (
	"testing"

	"github.com/headgate-dev/headgate/gossip/counts"
)

// TestStep: half of a node's even part of what is left, at least one.
func TestStep(t *testing.T) {
	for _, c := range []struct {
		left  int64
		nodes int
		want  int64
	}{{5, 3, 1}, {600, 6, 50}, {600, 1000, 1}, {0, 3, 1}, {-4, 3, 1}, {100, 0, 50}} {
		if got := counts.Step(c.left, c.nodes); got != c.want {
			t.Errorf("%d left, %d nodes: step %d, want %d", c.left, c.nodes, got, c.want)
		}
	}
}

// TestPressure: it begins when keys wait, grows by the square root of admissions times limit, never
// takes more than a quarter of the limit, and ends.
func TestPressure(t *testing.T) {
	var p counts.Pressure
	if p.Step(3, 100, 1000) != 3 {
		t.Error("there is pressure before any key waits")
	}
	for range 10 {
		p.Adjust(true)
	}
	small, large := p.Step(1, 10, 1000), p.Step(1, 1000, 1000)
	if ratio := float64(large) / float64(small); small < 2 || ratio < 7 || ratio > 13 {
		t.Errorf("a hundred times the admissions has the step %d in place of %d, want ten times it",
			large, small)
	}
	for range 200 {
		p.Adjust(true)
	}
	if got := p.Step(1, 1000, 100); got != 25 {
		t.Errorf("under the highest pressure a limit of 100 has the step %d, want 25", got)
	}
	for range 1000 {
		p.Adjust(false)
	}
	if p.Factor() != 0 || p.Step(1, 1000, 1000) != 1 {
		t.Errorf("the pressure stays at %v", p.Factor())
	}
}
