package api_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/api"
)

// TestUnknownRule: the answer repeats the name, escaped and cut, and suggests the nearest rule.
func TestUnknownRule(t *testing.T) {
	t.Parallel()
	rules := slices.Values([]string{"per-ip", "login"})
	long := strings.Repeat("x", api.MaxNameShown)
	for name, want := range map[string]string{
		"logn":          `rule "logn" is not a rule of this node; did you mean "login"?`,
		"PER-IP":        `rule "PER-IP" is not a rule of this node; did you mean "per-ip"?`,
		"":              `rule "" is not a rule of this node`,
		"\x1b[2J\n\xff": `rule "\x1b[2J\x0a\xff" is not a rule of this node`,
		"login\u202e":   `rule "login\xe2\x80\xae" is not a rule of this node; did you mean "login"?`,
		long:            `rule "` + long + `" is not a rule of this node`,
		long + "y":      `rule "` + long + `…" is not a rule of this node`,
		strings.Repeat("y", 1<<20): `rule "` + strings.Repeat("y",
			api.MaxNameShown) + `…" is not a rule of this node`,
	} {
		p := api.UnknownRule("rule", []byte(name), rules)
		if p.Error() != want || p.Status != 404 || !p.Unknown {
			t.Errorf("%.40q: %d %s, want %s", name, p.Status, p, want)
		}
	}
}

// TestLines: each line of an error is one string, and none can hide or move anything.
func TestLines(t *testing.T) {
	t.Parallel()
	text := "a.yaml:1:1: \x1b[2J\n\tb\n\n"
	got := api.Lines(errors.New(text))
	if want := []string{`a.yaml:1:1: \x1b[2J`, "  b"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
