//go:build !race

package seam_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest/seam"
	"github.com/headgate-dev/headgate/edge/edgetest"
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

// headgate returns the path of the daemon.
func headgate(t testing.TB) string {
	t.Helper()
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "headgate-seam"); built.err != nil {
			return
		}
		said, err := exec.Command("go", "build", "-o", filepath.Join(built.dir, "headgate"),
			"../..").CombinedOutput()
		if err != nil {
			built.err = fmt.Errorf("go build: %w: %s", err, said)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return filepath.Join(built.dir, "headgate")
}

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
	d := &daemon{dir, freePort(t)}
	listen := fmt.Sprintf("{udp: 'unix:%[1]s/udp', http: ['127.0.0.1:%[2]d', 'unix:%[1]s/http'], "+
		"spop: 'unix:%[1]s/spop', grpc: 'unix:%[1]s/grpc', admin: []}", dir, d.http)
	file := write(t, dir, "headgate.yaml",
		"node: seam\nmemory: 64MiB\nlisten: "+listen+"\n"+seam.Policies(clients))
	run(t, exec.Command(headgate(t), "serve", "-c", file))
	for _, socket := range []string{"http", "spop", "grpc"} {
		awaitListener(t, "unix", filepath.Join(dir, socket))
	}
	awaitListener(t, "tcp", address(d.http))
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

// ports is how many ports were looked at.
var ports atomic.Int64

// freePort returns a port that the system gives to no outgoing connection, each once.
func freePort(t testing.TB) int {
	t.Helper()
	for range 5000 {
		port := 20000 + (os.Getpid()*41+int(ports.Add(1))*103)%12000
		if l, err := net.Listen("tcp", address(port)); err == nil && l.Close() == nil {
			return port
		}
	}
	t.Fatal("no free port")
	return 0
}

func address(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }

func write(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
