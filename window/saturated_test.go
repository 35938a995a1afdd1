package window

import (
	"testing"
	"time"
)

// TestSaturated checks that noise is judged against a mark that means something, and which sketch
// it is.
func TestSaturated(t *testing.T) {
	t.Parallel()
	m := newTestCounter(t, 1<<20,
		Limit{Name: "r", Limit: 1000, Window: 10 * time.Second}).Meter("r")
	for _, tt := range []struct {
		mark, noise uint64
		saturated   bool
	}{
		{1, 255, false},
		{7, 255, false},
		{8, 2, false},
		{8, 3, true},
		{250, 62, false},
		{250, 63, true},
		{250, 0, false},
	} {
		m.mark.Store(tt.mark)
		m.layer.p99.Store(tt.noise)
		if layer, saturated := m.Saturated(); saturated != tt.saturated || layer != 10*time.Second {
			t.Errorf("mark %d, noise %d: %v, %v", tt.mark, tt.noise, layer, saturated)
		}
	}
}
