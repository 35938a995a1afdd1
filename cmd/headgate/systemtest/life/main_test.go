//go:build !race

package life

import (
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
)

func TestMain(m *testing.M) { systemtest.Main(m) }
