package main

import (
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/clitest"
	"github.com/headgate-dev/headgate/cmd/headgate/man"
)

// TestConfigurationPage keeps docs/configuration.md the page that edge/config's reference makes.
func TestConfigurationPage(t *testing.T) {
	clitest.CompareGolden(t, "../../docs/configuration.md", man.ConfigMarkdown())
}
