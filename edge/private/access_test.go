//go:build unix

package private

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// info is a fs.FileInfo of a file.
type info struct {
	mode fs.FileMode
	uid  uint32
}

func (i info) Name() string       { return "f" }
func (i info) Size() int64        { return 1 }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return false }
func (i info) Sys() any           { return &syscall.Stat_t{Uid: i.uid} }

// A file that everybody may write is refused; one that others may read, or another user may change,
// is warned of.
func TestLook(t *testing.T) {
	me := uint32(os.Geteuid())
	other := me + 12345
	for _, c := range []struct {
		info
		warns string // a word of each warning
		fails bool
	}{
		{info{0o600, me}, "", false},
		{info{0o400, me}, "", false},
		{info{0o640, 0}, "", false}, // root:headgate, as the packages have it
		{info{0o440, 0}, "", false}, // as Kubernetes mounts it
		{info{0o644, me}, "chmod o-r", false},
		{info{0o664, me}, "chmod g-w|chmod o-r", false},
		{info{0o600, other}, "chown", false},
		{info{0o604, other}, "chmod o-r|chown", false},
		{info{0o666, me}, "", true},
		{info{0o602, 0}, "", true},
	} {
		warnings, err := look("/secret", c.info)
		if errors.Is(err, ErrExposed) != c.fails || (err != nil) != c.fails {
			t.Errorf("%v: %v", c.info, err)
		}
		wants := strings.FieldsFunc(c.warns, func(r rune) bool { return r == '|' })
		if len(warnings) != len(wants) {
			t.Fatalf("%v: warned %q, want %q", c.info, warnings, wants)
		}
		for n, want := range wants {
			if !strings.HasPrefix(warnings[n], "/secret ") || !strings.Contains(warnings[n], want) {
				t.Errorf("%v: warned %q, want %q", c.info, warnings[n], want)
			}
		}
	}
}

// The content of a file that everybody may write is not returned.
func TestReadRefusesWhatEverybodyMayWrite(t *testing.T) {
	path := t.TempDir() + "/secret"
	if err := os.WriteFile(path, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	//nolint:gosec // too open on purpose //nolint:gosec // too open on purpose
	if err := os.Chmod(path, 0o606); err != nil {
		t.Fatal(err)
	}
	if content, warnings, err := Read(path, 100); !errors.Is(err, ErrExposed) ||
		content != nil || warnings != nil {
		t.Errorf("%q, %q, %v", content, warnings, err)
	}
}
