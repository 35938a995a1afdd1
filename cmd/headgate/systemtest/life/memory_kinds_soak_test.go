//go:build soak && linux && !race

package life

import "testing"

func TestSoakMemoryOfAllKinds(t *testing.T) { memoryOfAllKinds(t, 64, 100_000) }
