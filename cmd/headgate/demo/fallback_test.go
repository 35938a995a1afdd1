package demo

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// A memcached that does not start is replaced, and it is said why.
func TestDemoRingFallsBack(t *testing.T) {
	for program, why := range map[string]string{"": "not in PATH", "/bin/false": "ended at once", "/no/such": "no such file"} {
		r, err := openDemoRing(t.Context(), program)
		if err != nil {
			t.Fatal(err)
		}
		if r.what != "stand-in" || !strings.Contains(r.String(), why) {
			t.Errorf("%q: %s, want a stand-in because of %q", program, r, why)
		}
		if err := r.close(); err != nil {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, program := range []string{"/bin/cat", ""} {
		if _, err := openDemoRing(ctx, program); !errors.Is(err, context.Canceled) {
			t.Errorf("%q, told to stop: %v", program, err)
		}
	}
}

// What the daemons logged is not lost where the demo comes to nothing.
func TestDemoStageSaysWhatItHeard(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	said, after := &demoSaid{}, &strings.Builder{}
	_, _ = said.Write([]byte("a warning\n"))
	if _, _, err := openDemoStage(ctx, "", said, after); !errors.Is(err, context.Canceled) || after.String() != "a warning\n" {
		t.Errorf("%v: %q", err, after)
	}
}
