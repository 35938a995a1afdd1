package systemtest

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
)

// built is the daemon, built from the present sources once a run of the tests.
var built struct {
	once sync.Once
	dir  string
	err  error
}

// sideBySide is the number of parallel tests at once, unless -parallel gives another: they wait for
// daemons most of the time, and take less than a fifth of a core each. Tests that measure rates run
// one by one, before them.
const sideBySide = 4

// Main runs the tests of a room.
func Main(m *testing.M) {
	flag.Parse()
	if n := flag.Lookup("test.parallel"); n.Value.String() == n.DefValue &&
		runtime.GOMAXPROCS(0) < sideBySide {
		_ = flag.Set(n.Name, strconv.Itoa(sideBySide)) // a number fits
	}
	code := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// Binary returns the path of the daemon: HEADGATE_BINARY, or else built here from the sources.
func Binary(t testing.TB) string {
	t.Helper()
	if given := os.Getenv("HEADGATE_BINARY"); given != "" {
		return given
	}
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "headgate-ring"); built.err != nil {
			return
		}
		build := exec.Command("go", "build", "-ldflags=-s -w", "-o",
			filepath.Join(built.dir, "headgate"),
			"github.com/headgate-dev/headgate/cmd/headgate")
		if said, err := build.CombinedOutput(); err != nil {
			built.err = fmt.Errorf("go build: %w: %s", err, said)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return filepath.Join(built.dir, "headgate")
}

// RunCommand runs the program in this process with one command and args, of which the first names
// it, and returns the exit code.
func RunCommand(
	ctx context.Context, command cli.Entry, args []string, stdout, stderr io.Writer,
) int {
	return cli.NewApp(stdout, stderr).Run(ctx, []cli.Entry{command}, args)
}
