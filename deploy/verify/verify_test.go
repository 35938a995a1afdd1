package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	top = "../.." // of the repository
	// patience is how long something may take on a busy machine.
	patience = 30 * time.Second
	// again is how often it is looked whether it has happened.
	again = 20 * time.Millisecond
)

// built is the daemon, built from the present sources once a run of the tests.
var built struct {
	once sync.Once
	dir  string
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// daemon returns the path of the daemon: static, as it is shipped.
func daemon(t testing.TB) string {
	t.Helper()
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "headgate-verify"); built.err != nil {
			return
		}
		build := exec.Command("go", "build", "-buildvcs=false",
			"-ldflags=-s -w -X main.version=1.2.3", "-o",
			filepath.Join(built.dir, "headgate"), "./cmd/headgate")
		build.Dir, build.Env = top, append(os.Environ(), "CGO_ENABLED=0")
		if said, err := build.CombinedOutput(); err != nil {
			built.err = fmt.Errorf("go build: %w: %s", err, said)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return filepath.Join(built.dir, "headgate")
}

// short returns the path of a script that runs the daemon: packed a hundred times as fast.
func short(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "headgate")
	script := "#!/bin/sh\nexec " + daemon(t) + " \"$@\"\n"
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil { //nolint:gosec // to be run
		t.Fatal(err)
	}
	return path
}

// program returns where a program is, or skips the test.
func program(t testing.TB, name string) string {
	t.Helper()
	// Debian's sbin is not in everybody's path
	for _, at := range []string{name, "/usr/sbin/" + name} {
		if path, err := exec.LookPath(at); err == nil {
			return path
		}
	}
	t.Skip(name + " is not installed")
	return ""
}

// run returns the output of a command, and fails the test when the command fails.
func run(t testing.TB, name string, args ...string) string {
	t.Helper()
	said, err := command(t, name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return said
}

// command runs a command and returns its output, which an error holds too.
func command(t testing.TB, name string, args ...string) (string, error) {
	t.Helper()
	said, err := exec.CommandContext(t.Context(), name,
		args...).CombinedOutput() //nolint:gosec // the tests' own commands
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, said)
	}
	return string(said), err
}

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// await waits until something is true, and fails the test when it does not become so.
func await(t testing.TB, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tries := time.NewTicker(again)
	defer tries.Stop()
	for !is() {
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not within %v", what, patience)
		case <-tries.C:
		}
	}
}

// serve runs the daemon with a configuration until the test ends, and returns where its admin
// listener is.
func serve(t testing.TB, conf string) (admin string) {
	t.Helper()
	file, log := filepath.Join(t.TempDir(), "headgate.yaml"), filepath.Join(t.TempDir(), "log")
	write(t, file, conf)
	out, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(daemon(t), "serve", "-c", file)
	cmd.Stdout, cmd.Stderr = out, out
	if err := errors.Join(cmd.Start(), out.Close()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the daemon: %v: %s", err, read(t, log))
		}
	})
	said := regexp.MustCompile(`inspection +(\S+)\n`)
	await(t, "the daemon listens", func() bool {
		found := said.FindStringSubmatch(read(t, log))
		if found != nil {
			admin = found[1]
		}
		return found != nil
	})
	return admin
}

// get returns the answer of an admin listener at a path.
func get(t testing.TB, admin, path string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+admin+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // read to its end
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}
