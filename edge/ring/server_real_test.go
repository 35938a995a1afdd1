package ring

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long a program may take to start on a busy machine.
const patience = 30 * time.Second

// unhurried is a timeout for tests that are not about time.
const unhurried = MaxTimeout

// memcached is a real one, with which the test may do anything.
type memcached struct {
	testing.TB
	Server
	cmd *exec.Cmd
}

// startMemcached runs memcached on a free port until the test ends.
func startMemcached(t testing.TB, args ...string) *memcached {
	t.Helper()
	if _, err := exec.LookPath("memcached"); err != nil {
		t.Skip("memcached is not installed")
	}
	m := &memcached{TB: t, Server: Server{Host: "127.0.0.1", Port: freePort(t), Weight: 1}}
	m.start(args...)
	t.Cleanup(m.kill)
	return m
}

func (m *memcached) start(args ...string) {
	m.Helper()
	args = append([]string{"-l", m.Host, "-p", strconv.Itoa(int(m.Port)), "-U", "0", "-m", "16"},
		args...)
	if os.Geteuid() == 0 {
		args = append(args, "-u", "nobody")
	}
	m.cmd = exec.Command("memcached", args...)
	if err := m.cmd.Start(); err != nil {
		m.Fatal(err)
	}
	awaitListener(m, m.Server)
}

// signal sends a signal to this memcached.
func (m *memcached) signal(s syscall.Signal) {
	m.Helper()
	if err := m.cmd.Process.Signal(s); err != nil {
		m.Error(err)
	}
}

// kill ends it as kill -9 does, stopped or not.
func (m *memcached) kill() {
	_ = m.cmd.Process.Kill()
	_ = m.cmd.Wait() // that it was killed
}

// raw sends lines past the ring and returns the answer's first line.
func (m *memcached) raw(command string) string {
	m.Helper()
	network, address := m.Network()
	conn, err := net.Dial(network, address)
	if err != nil {
		m.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(patience))
	fmt.Fprintf(conn, "%s\r\n", command)
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		m.Fatal(err)
	}
	return strings.TrimRight(line, "\r\n")
}

// drawn counts the ports that freePort looked at, from a random one on.
var (
	drawn     atomic.Uint32
	firstPort = rand.Uint32N(2000)
)

// freePort returns a port nobody listened on a moment ago, from a range that only this package uses
// and from which the system gives none to clients: a server has it back after it was down. Each
// port has its turn: drawn by chance, two servers that are about to start got the same one now and
// then.
func freePort(t testing.TB) uint16 {
	t.Helper()
	for range 100 {
		port := 18000 + int((firstPort+drawn.Add(1))%2000)
		if ln, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port)); err == nil {
			_ = ln.Close()
			return uint16(port)
		}
	}
	t.Fatal("no free port")
	return 0
}

// awaitListener returns when the server takes connections.
func awaitListener(t testing.TB, s Server) {
	t.Helper()
	network, address := s.Network()
	tries := time.NewTicker(5 * time.Millisecond)
	defer tries.Stop()
	for deadline := time.Now().Add(patience); ; <-tries.C {
		conn, err := net.Dial(network, address)
		if err == nil {
			_ = conn.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// startNutcracker runs twemproxy before the servers until the test ends.
func startNutcracker(t testing.TB, servers ...*memcached) Server {
	t.Helper()
	program, err := exec.LookPath("nutcracker")
	if err != nil {
		program = "/usr/sbin/nutcracker" // not in everybody's path
	}
	if _, err := os.Stat(program); err != nil {
		t.Skip("nutcracker is not installed")
	}
	proxy := Server{Host: "127.0.0.1", Port: freePort(t), Weight: 1}
	conf := fmt.Sprintf("ring:\n  listen: 127.0.0.1:%d\n  hash: md5\n  distribution: ketama\n  "+
		"timeout: 1000\n  servers:\n", proxy.Port)
	for _, s := range servers {
		conf += fmt.Sprintf("   - 127.0.0.1:%d:1\n", s.Port)
	}
	name := t.TempDir() + "/nutcracker.yml"
	if err := os.WriteFile(name, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-c", name, "-a", "127.0.0.1", "-s",
		strconv.Itoa(int(freePort(t))), "-o", name+".log")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // that it was killed
	})
	awaitListener(t, proxy)
	return proxy
}

// TestMain fails when all tests together leave a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// openRing returns a Ring of the servers that is closed when the test ends.
func openRing(t testing.TB, c Config) *Ring {
	t.Helper()
	r, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// dials are the Config.Dial that lead to either protocol on a server that has both.
var dials = map[string]func(ctx context.Context, network, address string) (net.Conn, error){
	"meta": new(net.Dialer).DialContext,
	"classic": func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		return unprobed{conn}, err
	},
}

// unprobed is a connection through which no probe gets.
type unprobed struct{ net.Conn }

func (u unprobed) Write(b []byte) (int, error) {
	if string(b) == "mn\r\n" {
		b = []byte("??\r\n")
	}
	return u.Conn.Write(b)
}

// SyscallConn lets the connection still be found quiet or not.
func (u unprobed) SyscallConn() (syscall.RawConn, error) {
	return u.Conn.(syscall.Conn).SyscallConn()
}

// keyOf returns the name of counter i.
func keyOf(i int) (k Key) {
	copy(k[:], fmt.Sprintf("hg:%032x", i))
	return k
}

// adds returns n operations that add delta, each to a counter of its own, dealt to the servers in
// turn.
func adds(n, servers int, delta uint64) []Op {
	ops := make([]Op, n)
	for i := range ops {
		ops[i] = Op{Key: keyOf(i), Server: i % servers, Delta: delta, TTL: 60}
	}
	return ops
}

// wantTotals checks that all ops were answered with that total.
func wantTotals(t testing.TB, ops []Op, total uint64) {
	t.Helper()
	for i, op := range ops {
		if op.Err != nil || op.Total != total {
			t.Fatalf("op %d of %d: total %d (%v), want %d", i, len(ops), op.Total, op.Err, total)
		}
	}
}
