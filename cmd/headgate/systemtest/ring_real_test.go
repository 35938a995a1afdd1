//go:build !race

package systemtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/clitest"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// The tests named TestRing… check the counting of a PoP as an operator runs it: memcached and
// headgate, each a process of its own.
//
//	ringLoad ──UDP──► 4 × headgate serve ──TCP──► 3 × memcached ◄── signals, restarts, lies
//	     └── admitted, refused, view            └── explain, metrics

const (
	// ringFlush is the default ring.flush, which the nodes here run with.
	ringFlush = 100 * time.Millisecond
)

// lowPorts is how many ports lowPort has looked at.
var lowPorts atomic.Int64

// lowPort returns a free TCP port that the system gives to no outgoing connection: while its server
// is down no other socket takes it, and the server can have it back. It returns none twice, since a
// port may not be listened at yet.
func lowPort(t testing.TB) int {
	t.Helper()
	for range 5000 {
		port := 20000 + (os.Getpid()*37+int(lowPorts.Add(1))*101)%12000
		ln, err := net.Listen("tcp", address(port))
		if err != nil {
			continue
		}
		if err := ln.Close(); err != nil {
			t.Fatal(err)
		}
		return port
	}
	t.Fatal("no free port")
	return 0
}

func address(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }

// hold lets everything run for a while.
func hold(t testing.TB, d time.Duration) {
	t.Helper()
	end := time.NewTimer(d)
	defer end.Stop()
	select {
	case <-end.C:
	case <-t.Context().Done():
	}
}

// ringServer is a real memcached that a test may stop, pause and restart.
type ringServer struct {
	testing.TB
	port   int
	memory int // MiB
	cmd    *exec.Cmd
}

// startRingServer runs memcached on a port of its own until the test ends.
func startRingServer(t testing.TB) *ringServer {
	t.Helper()
	clitest.ProgramPath(t, "memcached")
	s := &ringServer{TB: t, port: lowPort(t), memory: 16}
	s.start()
	t.Cleanup(s.kill)
	return s
}

func startRingServers(t testing.TB, n int) (all []*ringServer) {
	t.Helper()
	for range n {
		all = append(all, startRingServer(t))
	}
	return all
}

// inNamespace is set for a test's second self, which runs in a network namespace of its own.
const inNamespace = "HEADGATE_RING_NAMESPACE"

// start runs it, empty, and returns when it takes connections.
func (s *ringServer) start() {
	s.Helper()
	args := []string{
		"-l", "127.0.0.1", "-p", strconv.Itoa(s.port), "-U", "0", "-m",
		strconv.Itoa(s.memory),
	}
	switch {
	case os.Getenv(inNamespace) != "": // which has no other users
		args = append(args, "-u", "root")
	case os.Geteuid() == 0:
		args = append(args, "-u", "nobody")
	}
	s.cmd = exec.Command(clitest.ProgramPath(s, "memcached"), args...)
	if err := s.cmd.Start(); err != nil {
		s.Fatal(err)
	}
	edgetest.Await(s, "memcached takes connections", edgetest.Patience, func() bool {
		conn, err := net.Dial("tcp", address(s.port))
		return err == nil && conn.Close() == nil
	})
}

func (s *ringServer) signal(sig syscall.Signal) {
	s.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.Error(err)
	}
}

// kill ends it as kill -9 does, stopped or not.
func (s *ringServer) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait() // that it was killed
}

// addressesOf returns where the servers listen.
func addressesOf(servers []*ringServer) (all []string) {
	for _, s := range servers {
		all = append(all, address(s.port))
	}
	return all
}

// ringNode is a daemon.
type ringNode struct {
	testing.TB
	name       string
	at         *place // where its doors are; nil: with the test
	cmd        *exec.Cmd
	said       *edgetest.Log
	udp, admin string
	gossips    string // where, as configured
	ended      bool   // by a test, not by its end
	spared     bool   // from being asked by a worldLoad
}

// startNode runs a daemon over the servers until the test ends; it must stop in time then.
func startNode(t testing.TB, name string, servers []string, more string) *ringNode {
	t.Helper()
	conf := fmt.Sprintf("pop: test\nmemory: 16MiB\nring: {servers: [%q], flush: %v}\n%s",
		strings.Join(servers, `", "`), ringFlush, more)
	return startDaemon(t, nil, name, strings.ReplaceAll(conf, `\"`, `"`))
}

// startDaemon runs a daemon at a place until the test ends; it must stop in time then. Its doors
// are on loopback.
func startDaemon(t testing.TB, at *place, name, conf string) *ringNode {
	t.Helper()
	file := filepath.Join(t.TempDir(), name+".yaml")
	conf = fmt.Sprintf("node: %s\n"+
		"listen: {udp: \"127.0.0.1:0\", http: \"127.0.0.1:0\", admin: \"127.0.0.1:0\"}\n%s", name,
		conf)
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	n := &ringNode{TB: t, name: name, at: at}
	n.launch(exec.Command(daemonBinary(t), "serve", "-c", file))
	t.Cleanup(n.stop)
	n.awaitDoors()
	return n
}

// launch runs a daemon.
func (n *ringNode) launch(cmd *exec.Cmd) {
	n.Helper()
	n.cmd, n.said = cmd, &edgetest.Log{}
	cmd.Stdout, cmd.Stderr = n.said, n.said
	var err error
	if n.at.do(func() { err = cmd.Start() }); err != nil {
		n.Fatal(err)
	}
}

// awaitDoors returns when the daemon has logged the addresses of its doors.
func (n *ringNode) awaitDoors() {
	n.Helper()
	edgetest.Await(n, n.name+" listens", edgetest.Patience, func() bool {
		n.udp, n.admin = n.listens("datagrams"), n.listens("inspection")
		return n.udp != "" && n.admin != "" // both: the second may have come between the two looks
	})
	if n.udp == "" || n.admin == "" {
		n.Fatalf("%s says: %s", n.name, n.said)
	}
}

// startNodes runs several daemons over the servers.
func startNodes(t testing.TB, count int, servers []string, more string) (all []*ringNode) {
	t.Helper()
	for n := range count {
		all = append(all, startNode(t, "edge-"+strconv.Itoa(n+1), servers, more))
	}
	return all
}

// listens returns the address that the daemon logged for one of its doors.
func (n *ringNode) listens(door string) string {
	found := regexp.MustCompile(door + ` +(127\.0\.0\.1:\d+)\n`).FindStringSubmatch(n.said.String())
	if found == nil {
		return ""
	}
	return found[1]
}

// stop stops the daemon. One that crashed, or does not stop, fails the test.
func (n *ringNode) stop() {
	if n.ended {
		return
	}
	_ = n.cmd.Process.Signal(syscall.SIGTERM)
	late := time.AfterFunc(edgetest.Patience, func() { _ = n.cmd.Process.Kill() })
	defer late.Stop()
	if err := n.cmd.Wait(); err != nil {
		n.Errorf("%s: %v: %s", n.cmd.Path, err, n.said)
	}
}
