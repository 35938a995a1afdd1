package state

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/gate/gatetest"
)

// A state that everybody on the machine may have written is not restored; of one that everybody may
// read the log warns.
func TestStateThatOthersReach(t *testing.T) {
	t.Parallel()
	for mode, want := range map[os.FileMode]struct {
		ignored uint64
		flags   int
		says    string
	}{
		0o600: {0, 3, "state restored"},
		0o604: {0, 3, "read by everybody"},
		0o602: {1, 0, "written by everybody"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, fileName)
		if err := os.WriteFile(path, exampleState(t), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		g := gatetest.New(t, 1<<20, gatetest.Shed, gatetest.Block)
		is := Open(g, dir, Digests{}, slog.New(slog.NewTextHandler(&log, nil))).Stats(g.Now())
		if live := len(flags(g)); is.Ignored != want.ignored || live != want.flags ||
			!strings.Contains(log.String(), want.says) {
			t.Errorf("mode %o: %d flags, %+v, the log says\n%s", mode, live, is, &log)
		}
	}
}
