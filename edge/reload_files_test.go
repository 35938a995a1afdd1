package edge

import (
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

// The files that a configuration names: what they may be, and who else may reach them.

// A key file that is a pipe without a writer is refused at once, at the start and at a reload.
func TestKeyFileIsARegularFile(t *testing.T) {
	n := newReloadNode(t, "gossip: {key_file: $KEY}\n")
	if err := os.Remove(n.path("cluster.key")); err != nil {
		t.Fatal(err)
	}
	makePipe(t, n.path("cluster.key"))
	refused := make(chan error, 2)
	go func() {
		_, err := n.Reload()
		refused <- err
		_, err = prepare(n.path("headgate.yaml"), nil)
		refused <- err
	}()
	for _, when := range []string{"reload", "start"} {
		select {
		case err := <-refused:
			if err == nil || !strings.Contains(err.Error(), "not a regular file") {
				t.Errorf("%s: %v", when, err)
			}
		case <-time.After(edgetest.Patience):
			t.Fatalf("%s waits for the pipe", when)
		}
	}
}

// makePipe makes a named pipe at path.
func makePipe(t testing.TB, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A reload reads the token again: the old one is none any more, and a file that holds none leaves
// the last good one.
func TestReloadReadsTheToken(t *testing.T) {
	n := newReloadNode(t, "")
	change := func(token string) int {
		n.token = token
		return n.ask(http.MethodPut, "/v1/mode", `{"mode":"enforce"}`).Code
	}
	if got := change("first"); got != http.StatusNoContent {
		t.Fatalf("the token of the start: status %d", got)
	}
	n.write("token", "second\n")
	if _, err := n.Reload(); err != nil {
		t.Fatal(err)
	}
	n.write("token", "two words\n")
	if _, err := n.Reload(); err == nil {
		t.Error("a file without a token was taken")
	}
	for token, want := range map[string]int{
		"first":  http.StatusUnauthorized,
		"second": http.StatusNoContent,
	} {
		if got := change(token); got != want {
			t.Errorf("%s after the reload: status %d, want %d", token, got, want)
		}
	}
}

// A secret that everybody may write is refused, at a reload as at the start; of one that everybody
// may read the log warns.
func TestSecretsThatOthersReach(t *testing.T) {
	for _, file := range []string{"cluster.key", "token"} {
		n := newReloadNode(t, "gossip: {key_file: $KEY}\n")
		n.mode(file, 0o602)
		if _, err := n.Reload(); err == nil || !strings.Contains(err.Error(), n.path(file)) ||
			!strings.Contains(err.Error(), "written by everybody") {
			t.Errorf("%s that everybody may write: %v", file, err)
		}
		if _, err := prepare(n.path("headgate.yaml"), nil); err == nil {
			t.Errorf("started with a %s that everybody may write", file)
		}
		n.mode(file, 0o644)
		if _, err := n.Reload(); err != nil {
			t.Error(err)
		}
		if said := n.said.String(); !strings.Contains(said, "level=WARN") ||
			!strings.Contains(said, n.path(file)+" can be read by everybody") {
			t.Errorf("%s that everybody may read: the log says\n%s", file, said)
		}
	}
}

func (n *reloadNode) mode(file string, mode os.FileMode) {
	n.Helper()
	if err := os.Chmod(n.path(file), mode); err != nil {
		n.Fatal(err)
	}
}
