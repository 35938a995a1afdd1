package gossip

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain looks for goroutines that are left. A probe that memberlist had begun when it was shut
// down waits for its answer a little longer, hence the patience.
func TestMain(m *testing.M) {
	code := m.Run()
	err := goleak.Find()
	for end := time.Now().Add(patience); err != nil && time.Now().Before(end); {
		err = goleak.Find()
	}
	if err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, "goroutines are left:", err)
		code = 1
	}
	os.Exit(code)
}
