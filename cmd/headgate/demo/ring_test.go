package demo

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// A memcached that does not start is replaced, and the ring gives the reason.
func TestRingFallsBack(t *testing.T) {
	for program, reason := range map[string]string{
		"": "not in PATH", "/bin/false": "ended at once",
		"/no/such": "no such file",
	} {
		r, err := openRing(t.Context(), program)
		if err != nil {
			t.Fatal(err)
		}
		if r.Kind != "stand-in" || !strings.Contains(r.String(), reason) || r.Full() != 0 {
			t.Errorf("%q: %s, want a stand-in because of %q", program, r, reason)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, program := range []string{"/bin/cat", ""} {
		if _, err := openRing(ctx, program); !errors.Is(err, context.Canceled) {
			t.Errorf("%q, stopped: %v", program, err)
		}
	}
}

// A demo that cannot start still prints the lines that its daemons logged.
func TestOpenPrintsTheLog(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	log, after := &daemonLog{}, &strings.Builder{}
	_, _ = log.Write([]byte("a warning\n"))
	if _, _, err := openStage(ctx, "", log, after); !errors.Is(err, context.Canceled) ||
		after.String() != "a warning\n" {
		t.Errorf("%v: %q", err, after)
	}
}

// Lines of the daemons are written through or kept, MaxLogLines of them, and are safe to print.
func TestLog(t *testing.T) {
	var out strings.Builder
	l := &daemonLog{Through: &out}
	_, _ = l.Write([]byte("one\n"))
	if out.String() != "one\n" {
		t.Errorf("through: %q", out.String())
	}
	l = &daemonLog{}
	for range maxLogLines + 2 {
		_, _ = l.Write([]byte("bad\x1b[2J\n"))
	}
	out.Reset()
	l.End(&out)
	_, _ = l.Write([]byte("late\n"))
	l.End(&out)
	if want := strings.Repeat("bad\\x1b[2J\n",
		maxLogLines) + "… and 2 lines more\n"; out.String() != want {
		t.Errorf("kept: %q", out.String())
	}
}
