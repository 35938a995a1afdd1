package config_test

import (
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/config"
)

// TestCommentsDoNotMove: a file with comments in the sections on requests, wherever they are, is
// written alike when it is read again.
func TestCommentsDoNotMove(t *testing.T) {
	for _, text := range []string{
		"clients:\n  trusted: [192.0.2.0/24]\n  # the end\nsets: {}\n",
		"clients: {trusted: [192.0.2.0/24]}\n#\nsets: {}\n",
		"# head\nclients: # line\n  trusted:\n  - 192.0.2.0/24 # item\n",
		"clients: {trusted: [192.0.2.0/24]}\n# foot\n\n# another\n",
		"clients: {trusted: [192.0.2.0/24]}\n# foot\n",
		"clients: {trusted: [192.0.2.0/24]}\n#\n\nsets: {}\n",
		"clients: {trusted: [192.0.2.0/24]}\n\n#\n\nnode: a\n",
		"clients:\n  trusted: [192.0.2.0/24]\n#\n\nnode: a\n",
	} {
		c, err := config.Parse("headgate.yaml", []byte(text))
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if again := roundTrip(t, c); !strings.Contains(string(again), "192.0.2.0/24") {
			t.Errorf("%q is written as\n%s", text, again)
		}
	}
}
