package systemtest

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

// The tests named TestRing… check the counting of a PoP as an operator runs it: memcached and
// headgate, each a process of its own.
//
//	Load ──UDP──► 4 × headgate serve ──TCP──► 3 × memcached ◄── signals, restarts, lies
//	     └── admitted, refused, view            └── explain, metrics

const (
	// FlushInterval is the default ring.flush, which the nodes here run with.
	FlushInterval = 100 * time.Millisecond
)

// Node is a daemon.
type Node struct {
	testing.TB
	ID         string
	at         *Place // where its doors are; nil: with the test
	Cmd        *exec.Cmd
	Said       *edgetest.Log
	UDP, Admin string
	Gossips    string // where, as configured
	Ended      bool   // by a test, not by its end
	Spared     bool   // from being asked by a worldLoad
}

// StartNode runs a daemon over the servers until the test ends; it must stop in time then.
func StartNode(t testing.TB, name string, servers []string, more string) *Node {
	t.Helper()
	conf := fmt.Sprintf("pop: test\nmemory: 16MiB\nring: {servers: [%q], flush: %v}\n%s",
		strings.Join(servers, `", "`), FlushInterval, more)
	return StartDaemon(t, nil, name, strings.ReplaceAll(conf, `\"`, `"`))
}

// StartDaemon runs a daemon at a place until the test ends; it must stop in time then. Its doors
// are on loopback.
func StartDaemon(t testing.TB, at *Place, name, conf string) *Node {
	t.Helper()
	file := filepath.Join(t.TempDir(), name+".yaml")
	conf = edgetest.Small(fmt.Sprintf("node: %s\n"+
		"listen: {udp: \"127.0.0.1:0\", http: \"127.0.0.1:0\", admin: \"127.0.0.1:0\"}\n%s", name,
		conf))
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	n := &Node{TB: t, ID: name, at: at}
	n.Launch(exec.Command(Binary(t), "serve", "-c", file))
	t.Cleanup(n.Stop)
	n.AwaitDoors()
	return n
}

// Launch runs a daemon.
func (n *Node) Launch(cmd *exec.Cmd) {
	n.Helper()
	n.Cmd, n.Said = cmd, &edgetest.Log{}
	cmd.Stdout, cmd.Stderr = n.Said, n.Said
	var err error
	if n.at.Do(func() { err = cmd.Start() }); err != nil {
		n.Fatal(err)
	}
}

// AwaitDoors returns when the daemon has logged the addresses of its doors.
func (n *Node) AwaitDoors() {
	n.Helper()
	edgetest.Await(n, n.ID+" listens", edgetest.Patience, func() bool {
		n.UDP, n.Admin = n.Listens("datagrams"), n.Listens("inspection")
		return n.UDP != "" && n.Admin != "" // both: the second may have come between the two looks
	})
	if n.UDP == "" || n.Admin == "" {
		n.Fatalf("%s says: %s", n.ID, n.Said)
	}
}

// Listens returns the address that the daemon logged for one of its doors.
func (n *Node) Listens(door string) string {
	found := regexp.MustCompile(door + ` +(127\.0\.0\.1:\d+)\n`).FindStringSubmatch(n.Said.String())
	if found == nil {
		return ""
	}
	return found[1]
}

// Stop stops the daemon. One that crashed, or does not stop, fails the test.
func (n *Node) Stop() {
	if n.Ended {
		return
	}
	_ = n.Cmd.Process.Signal(syscall.SIGTERM)
	late := time.AfterFunc(edgetest.Patience, func() { _ = n.Cmd.Process.Kill() })
	defer late.Stop()
	if err := n.Cmd.Wait(); err != nil {
		n.Errorf("%s: %v: %s", n.Cmd.Path, err, n.Said)
	}
}

// Kill ends the daemon as kill -9 does.
func (n *Node) Kill() {
	n.Ended = true
	_ = n.Cmd.Process.Kill()
	_ = n.Cmd.Wait() // that it was killed
}

// Reload has the daemon read its configuration again.
func (n *Node) Reload() {
	n.Helper()
	r, err := http.Post("http://"+n.Admin+"/v1/reload", "", nil)
	if err != nil {
		n.Fatal(err)
	}
	defer r.Body.Close() //nolint:errcheck // of a test
	if r.StatusCode != http.StatusOK {
		n.Fatalf("reload: %s", r.Status)
	}
}
