package systemtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/clitest"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// lowPorts is how many ports Port has looked at.
var lowPorts atomic.Int64

// claims holds the names by which ports are this process's.
var claims sync.Map

// Port returns a free TCP port that the system gives to no outgoing connection: while its server
// is down no other socket takes it, and the server can have it back. It returns none twice, since a
// port may not be listened at yet; nor does another process, while this one lives: a name of the
// abstract namespace stands for each port.
func Port(t testing.TB) int {
	t.Helper()
	for range 5000 {
		port := 20000 + (os.Getpid()*37+int(lowPorts.Add(1))*101)%12000
		claim, err := net.Listen("unix", fmt.Sprint("@headgate-test-port-", port))
		if err != nil {
			continue
		}
		claims.Store(port, claim) // for the life of the process
		ln, err := net.Listen("tcp", Address(port))
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

// Address returns the address of a port on loopback.
func Address(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }

// Memcached is a real memcached that a test may stop, pause and restart.
type Memcached struct {
	testing.TB
	Port   int
	Memory int // MiB
	cmd    *exec.Cmd
}

// StartMemcached runs memcached on a port of its own until the test ends.
func StartMemcached(t testing.TB) *Memcached {
	t.Helper()
	clitest.ProgramPath(t, "memcached")
	s := &Memcached{TB: t, Port: Port(t), Memory: 16}
	s.Start()
	t.Cleanup(s.Kill)
	return s
}

// InNamespace is set for a test's second self, which runs in a network namespace of its own.
const InNamespace = "HEADGATE_RING_NAMESPACE"

// Start runs it, empty, and returns when it takes connections.
func (s *Memcached) Start() {
	s.Helper()
	args := []string{
		"-l", "127.0.0.1", "-p", strconv.Itoa(s.Port), "-U", "0", "-m",
		strconv.Itoa(s.Memory),
	}
	switch {
	case os.Getenv(InNamespace) != "": // which has no other users
		args = append(args, "-u", "root")
	case os.Geteuid() == 0:
		args = append(args, "-u", "nobody")
	}
	s.cmd = exec.Command(clitest.ProgramPath(s, "memcached"), args...)
	if err := s.cmd.Start(); err != nil {
		s.Fatal(err)
	}
	edgetest.Await(s, "memcached takes connections", edgetest.Patience, func() bool {
		conn, err := net.Dial("tcp", Address(s.Port))
		return err == nil && conn.Close() == nil
	})
}

// Signal sends a signal to the process.
func (s *Memcached) Signal(sig syscall.Signal) {
	s.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.Error(err)
	}
}

// Kill ends it as kill -9 does, stopped or not.
func (s *Memcached) Kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait() // that it was killed
}

// AddressesOf returns where the servers listen.
func AddressesOf(servers []*Memcached) (all []string) {
	for _, s := range servers {
		all = append(all, Address(s.Port))
	}
	return all
}

// Holds describes the contents of a memcached.
func (s *Memcached) Holds() string {
	stats := map[string]int{}
	for line := range strings.Lines(TellMemcached(s, s.Port, "stats")) {
		if f := strings.Fields(line); len(f) == 3 {
			stats[f[1]], _ = strconv.Atoi(f[2])
		}
	}
	return fmt.Sprintf("curr_items %d, bytes %d, %d an item, evictions %d; %s",
		stats["curr_items"], stats["bytes"], stats["bytes"]/max(1, stats["curr_items"]),
		stats["evictions"], s.chunks())
}

// chunks lists the sizes of the chunks in which a memcached keeps its items.
func (s *Memcached) chunks() string {
	var all []string
	for line := range strings.Lines(TellMemcached(s, s.Port, "stats slabs")) {
		if strings.Contains(line, ":chunk_size ") || strings.Contains(line, ":used_chunks ") {
			all = append(all, strings.TrimSpace(strings.TrimPrefix(line, "STAT ")))
		}
	}
	return strings.Join(all, ", ")
}

// Stat returns one of the server's statistics.
func (s *Memcached) Stat(name string) string {
	s.Helper()
	_, rest, _ := strings.Cut(TellMemcached(s, s.Port, "stats"), "STAT "+name+" ")
	value, _, _ := strings.Cut(rest, "\r\n")
	return value
}

// TellMemcached returns everything that a memcached answers to one command.
func TellMemcached(t testing.TB, port int, command string) string {
	t.Helper()
	conn, err := net.DialTimeout("tcp", Address(port), edgetest.Patience)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // everything is read by then
	if err := conn.SetDeadline(time.Now().Add(edgetest.Patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "%s\r\nquit\r\n", command); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	if _, err := conn.(*net.TCPConn).WriteTo(&all); err != nil {
		t.Fatal(err)
	}
	return all.String()
}
