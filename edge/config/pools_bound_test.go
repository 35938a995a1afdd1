package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/mitigation/pool"
)

// As many pools as there may be are read, and one more is a fault that names the bound.
func TestPoolsAreBounded(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("pools:\n")
	for n := range pool.MaxPools + 1 {
		if _, err := config.Parse("f", []byte(text.String())); err != nil && n > 0 {
			t.Fatalf("%d pools: %v", n, err)
		}
		fmt.Fprintf(&text, "  - {name: p%d, shed_above: 0.85, restore_below: 0.70, order: "+
			"[normal]}\n", n)
	}
	if _, err := config.Parse("f", []byte(text.String())); err == nil ||
		!strings.Contains(err.Error(), "64") {
		t.Errorf("%d pools: %v", pool.MaxPools+1, err)
	}
}
