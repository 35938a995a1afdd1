//go:build !race

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/config"
)

// TestUnit has systemd read deploy/headgate.service, with a program in it that every machine has; what it makes for the
// state is where its comment says that state_dir is to be.
func TestUnit(t *testing.T) {
	analyze := programPath(t, "systemd-analyze")
	unit, err := os.ReadFile("../../deploy/headgate.service")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(unit), "/usr/local/bin/headgate serve", "/bin/true serve", 1)
	if said := verifyUnit(t, analyze, []byte(text), nil); said != "" {
		t.Errorf("systemd-analyze says:\n%s", said)
	}
	if said := verifyUnit(t, analyze, []byte(text+"\n[Service]\nStateDirectry=x\n"), nil); !strings.Contains(said, "StateDirectry") {
		t.Errorf("a fault is not found: %q", said)
	}
	for _, want := range []string{"\nStateDirectory=headgate\n", "state_dir: /var/lib/headgate "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the unit", want)
		}
	}
	if c, err := config.Parse("unit.yaml", []byte("state_dir: /var/lib/headgate\n")); err != nil || c.StateDir != "/var/lib/headgate" {
		t.Errorf("%q, %v", c.StateDir, err)
	}
}
