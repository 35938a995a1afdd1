//go:build !race

package together

import (
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
)

func TestMain(m *testing.M) { systemtest.Main(m) }
