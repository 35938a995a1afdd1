package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
)

// A command refuses a token file that is a pipe, and one that everybody may write; it warns of one
// that everybody may read.
func TestTokenFileOfACommand(t *testing.T) {
	b := newBench(t)
	b.admin.token = "s3cret"
	token, pipe := b.file("token", "s3cret\n"), filepath.Join(t.TempDir(), "pipe")
	makePipe(t, pipe)
	for _, c := range []struct {
		file string
		mode os.FileMode
		code int
		says string
	}{
		{pipe, 0o600, cli.ExitFailed, "not a regular file"},
		{token, 0o646, cli.ExitFailed, "written by everybody"},
		{token, 0o604, cli.ExitOK, "read by everybody"},
		{token, 0o600, cli.ExitOK, ""},
	} {
		if err := os.Chmod(c.file, c.mode); err != nil {
			t.Fatal(err)
		}
		code, _, stderr := b.run(t.Context(), "block", "login", "x", "--token-file", c.file)
		if code != c.code || !strings.Contains(stderr, c.says) || c.says == "" && stderr != "" {
			t.Errorf("%s, mode %o: exit %d, %q", filepath.Base(c.file), c.mode, code, stderr)
		}
	}
}

// makePipe makes a pipe at path.
func makePipe(t *testing.T, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}
