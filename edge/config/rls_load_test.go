package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/mitigation"
)

// One file holds as many descriptors as there may be, and no more bytes than it may; of many limits
// that are counted by the day some are named, and the others counted.
func TestLargeRLSFiles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "limits.yaml")
	load := func(text string) (config.Config, error) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c := config.Default()
		c.RLS.Files, c.RLS.LongUnits = []string{path}, true
		_, err := config.LoadRLS(&c)
		return c, err
	}
	descriptors := func(n int, unit string) string {
		var b strings.Builder
		b.WriteString("domain: d\ndescriptors:\n")
		for i := range n {
			fmt.Fprintf(&b, "  - key: remote_address\n    value: \"client number %d of a "+
				"customer\"\n    rate_limit:\n      unit: %s\n      requests_per_unit: "+
				"400\n", i, unit)
		}
		return b.String()
	}
	c, err := load(descriptors(mitigation.MaxTree, "minute"))
	if err != nil || len(c.RLS.Rules) != mitigation.MaxTree || len(c.Warnings) != 0 {
		t.Errorf("%v, %d rules, %d warnings", err, len(c.RLS.Rules), len(c.Warnings))
	}
	if _, err := load(descriptors(1, "minute") + strings.Repeat("#\n",
		config.MaxRLSBytes/2)); err == nil || !strings.Contains(err.Error(), "larger than 8 MiB") {
		t.Errorf("a file of more than %d bytes: %v", config.MaxRLSBytes, err)
	}
	c, err = load(descriptors(50, "month"))
	if err != nil || len(c.Warnings) != 21 ||
		c.Warnings[20].Message != "and 30 more limits are counted by the day" {
		t.Errorf("%v, %d warnings", err, len(c.Warnings))
	}
}
