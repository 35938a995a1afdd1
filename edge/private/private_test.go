//go:build unix

package private_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/headgate-dev/headgate/edge/private"
)

// Only regular files and links to them are read, and only as far as they may be long.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.WriteFile(at("file"), []byte("12345"), 0o600),
		os.WriteFile(at("empty"), nil, 0o600),
		os.WriteFile(at("long"), []byte("123456"), 0o600),
		os.Symlink("file", at("link")),
		os.Mkdir(at("directory"), 0o700),
		syscall.Mkfifo(at("pipe"), 0o600),
		os.Symlink("pipe", at("link to a pipe")),
		os.Symlink("nothing", at("link to nothing")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: at("socket"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = socket.Close() }()
	for name, want := range map[string]error{
		"file": nil, "empty": nil, "link": nil, "long": private.ErrSize,
		"directory": private.ErrNotRegular, "pipe": private.ErrNotRegular,
		"link to a pipe": private.ErrNotRegular, "socket": private.ErrNotRegular,
		"none": fs.ErrNotExist, "link to nothing": fs.ErrNotExist,
	} {
		content, _, err := private.Read(at(name), 5)
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
		if err != nil && !strings.Contains(err.Error(), at(name)) {
			t.Errorf("%s: the error names no file: %v", name, err)
		}
		if text := map[string]string{
			"file": "12345",
			"link": "12345",
		}[name]; string(content) != text {
			t.Errorf("%s: %q", name, content)
		}
	}
	if _, _, err := private.Read("/dev/null", 5); !errors.Is(err, private.ErrNotRegular) {
		t.Errorf("a device: %v", err)
	}
}
