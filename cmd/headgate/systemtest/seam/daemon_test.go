//go:build !race

package seam_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	"github.com/headgate-dev/headgate/cmd/headgate/systemtest/seam"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

func TestMain(m *testing.M) { systemtest.Main(m) }

// daemon is a headgate whose doors are unix sockets in dir, and a port for who cannot use one.
type daemon struct {
	dir  string
	http int
}

// startDaemon runs one with the policies of the suite until the test ends; clients are further
// options of theirs.
func startDaemon(t testing.TB, clients string) *daemon {
	t.Helper()
	dir, err := os.MkdirTemp("", "hg") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	d := &daemon{dir, systemtest.Port(t)}
	listen := fmt.Sprintf("{udp: 'unix:%[1]s/udp', http: ['127.0.0.1:%[2]d', 'unix:%[1]s/http'], "+
		"spop: 'unix:%[1]s/spop', grpc: 'unix:%[1]s/grpc', admin: []}", dir, d.http)
	file := write(t, dir, "headgate.yaml",
		"node: seam\nmemory: 8MiB\nlisten: "+listen+"\n"+seam.Policies(clients))
	run(t, exec.Command(systemtest.Binary(t), "serve", "-c", file))
	for _, socket := range []string{"http", "spop", "grpc"} {
		awaitListener(t, "unix", filepath.Join(dir, socket))
	}
	awaitListener(t, "tcp", systemtest.Address(d.http))
	return d
}

// run runs a program until the test ends, and shows what it said if that fails.
func run(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	said := &edgetest.Log{}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		late := time.AfterFunc(5*time.Second, func() { _ = cmd.Process.Kill() })
		defer late.Stop()
		if err := cmd.Wait(); err != nil && strings.HasSuffix(cmd.Path, "headgate") {
			t.Errorf("%s: %v", cmd.Path, err)
		}
		if text := said.String(); t.Failed() {
			t.Logf("%s said: %s", cmd.Path, text[max(0, len(text)-2000):])
		}
	})
}

func awaitListener(t testing.TB, network, at string) {
	t.Helper()
	edgetest.Await(t, at+" listens", edgetest.Patience, func() bool {
		conn, err := net.Dial(network, at)
		return err == nil && conn.Close() == nil
	})
}

func write(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
