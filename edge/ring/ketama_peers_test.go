package ring

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// These tests share real memcached with the clients that the placement claims to agree with.

const (
	peerKeys     = 400
	peerPatience = 10 * time.Second // for a program to answer, on a busy machine
)

// TestKetamaAsNutcracker sets keys through twemproxy and finds each where Pick says.
func TestKetamaAsNutcracker(t *testing.T) {
	for name, serve := range peerServers() {
		t.Run(name, func(t *testing.T) {
			lab := ketamaLab{t, t.TempDir()}
			program := lab.program("nutcracker")
			servers := serve(lab)
			lab.setThroughNutcracker(program, servers)
			lab.checkHolders(servers)
		})
	}
}

// TestKetamaAsLibmemcached does the same through libmemcached.
func TestKetamaAsLibmemcached(t *testing.T) {
	for name, serve := range peerServers() {
		t.Run(name, func(t *testing.T) {
			lab := ketamaLab{t, t.TempDir()}
			python := lab.pylibmc()
			servers := serve(lab)
			lab.setThroughPylibmc(python, servers)
			lab.checkHolders(servers)
		})
	}
}

// peerServers starts three memcached in one way or another. Those at unix sockets weigh the same
// and keep to themselves, because pylibmc knows no other ways.
func peerServers() map[string]func(ketamaLab) []Server {
	return map[string]func(ketamaLab) []Server{
		"equal": func(l ketamaLab) []Server {
			return []Server{l.memcached("a", 1), l.memcached("b", 1), l.memcached("c", 1)}
		},
		"weighted": func(l ketamaLab) []Server {
			return []Server{l.memcached("a", 3), l.memcached("b", 1), l.memcached("c", 2)}
		},
		"unix sockets": func(l ketamaLab) []Server {
			return []Server{l.socketMemcached("a"), l.socketMemcached("b"), l.socketMemcached("c")}
		},
	}
}

// ketamaLab runs programs in a directory of their own until the test ends.
type ketamaLab struct {
	*testing.T
	dir string
}

// program returns where a program is, or skips the test.
func (l ketamaLab) program(name string) string {
	l.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		l.Skip(name + " is not installed")
	}
	return path
}

// pylibmc returns Debian's Python, which has its packages, or skips the test.
func (l ketamaLab) pylibmc() string {
	l.Helper()
	const python = "/usr/bin/python3"
	if err := exec.CommandContext(l.Context(), python, "-c", "import pylibmc").Run(); err != nil {
		l.Skip("python3-pylibmc is not installed")
	}
	return python
}

// memcached serves on a port of its own choice.
func (l ketamaLab) memcached(name string, weight int) Server {
	l.Helper()
	ports := filepath.Join(l.dir, name+".ports")
	l.start([]string{"MEMCACHED_PORT_FILENAME=" + ports}, l.program("memcached"),
		// -u counts only for root, who must choose
		"-l", "127.0.0.1", "-p", "-1", "-U", "0", "-m", "16", "-u", "root")
	s := Server{Host: "127.0.0.1", Weight: weight}
	l.await(name+"'s port", func() bool {
		text, _ := os.ReadFile(ports)
		_, err := fmt.Sscanf(string(text), "TCP INET: %d\n", &s.Port)
		return err == nil
	})
	return s
}

// socketMemcached serves at a unix socket.
func (l ketamaLab) socketMemcached(name string) Server {
	l.Helper()
	s := Server{Path: filepath.Join(l.dir, name+".sock"), Weight: 1}
	l.start(nil, l.program("memcached"), "-s", s.Path, "-m", "16", "-u", "root")
	l.awaitDial(s)
	return s
}

// setThroughNutcracker sets all keys through a proxy in front of the servers.
func (l ketamaLab) setThroughNutcracker(program string, servers []Server) {
	l.Helper()
	front := Server{Path: filepath.Join(l.dir, "front.sock")}
	conf := fmt.Sprintf("pool:\n  listen: %s\n  distribution: ketama\n  hash: md5\n  servers:\n",
		front.Path)
	for _, s := range servers {
		_, address := s.Network()
		conf += fmt.Sprintf("    - %s:%d", address, s.Weight)
		if s.Path != "" {
			conf += fmt.Sprintf(" %s:0", s.Path) // as NewPlacement's comment says
		}
		conf += "\n"
	}
	file := filepath.Join(l.dir, "nutcracker.yml")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		l.Fatal(err)
	}
	l.start(nil, program, "-c", file, "-p", filepath.Join(l.dir, "pid"), "-o",
		filepath.Join(l.dir, "nutcracker.log"),
		// for its figures, which it cannot do without
		"-a", "127.0.0.1", "-s", strconv.Itoa(int(freePort(l))))
	l.awaitDial(front)

	l.exchange(front, "set %s 0 0 1\r\nx\r\n", func(line string) bool {
		if line != "STORED" {
			l.Fatalf("nutcracker says %q", line)
		}
		return true
	})
}

// setThroughPylibmc sets all keys through libmemcached.
func (l ketamaLab) setThroughPylibmc(python string, servers []Server) {
	l.Helper()
	const script = `
import pylibmc, sys
client = pylibmc.Client(sys.argv[1:], behaviors={"ketama_weighted": True})
assert client.behaviors["hash"] == "md5"
for key in sys.stdin.read().split():
    assert client.set(key, "x")
`
	args := []string{"-c", script}
	for _, s := range servers {
		network, address := s.Network()
		if network == "tcp" {
			address += fmt.Sprintf(":%d", s.Weight)
		}
		args = append(args, address)
	}
	cmd := exec.CommandContext(l.Context(), python, args...)
	cmd.Stdin = strings.NewReader(strings.Join(peerKeyList(), "\n"))
	if said, err := cmd.CombinedOutput(); err != nil {
		l.Fatalf("pylibmc: %v: %s", err, said)
	}
}

// checkHolders asks each server for all keys: the one picked must have it, and no other.
func (l ketamaLab) checkHolders(servers []Server) {
	l.Helper()
	p := place(l, servers)
	found := 0
	for i, s := range servers {
		here := 0
		l.exchange(s, "get %s\r\n", func(line string) bool {
			if key, is := strings.CutPrefix(line, "VALUE "); is {
				key, _, _ = strings.Cut(key, " ")
				here++
				if want := p.Pick([]byte(key)); want != i {
					l.Errorf("%v: %s is on server %d, Pick says %d", servers, key, i, want)
				}
			}
			return line == "END"
		})
		if here == 0 {
			l.Errorf("server %d holds no key", i)
		}
		found += here
	}
	if found != peerKeys {
		l.Errorf("found %d keys, want %d", found, peerKeys)
	}
}

func peerKeyList() []string {
	keys := make([]string, peerKeys)
	for i := range keys {
		keys[i] = fmt.Sprintf("key-%d", i)
	}
	return keys
}

// exchange sends command for all keys and hands on each line of the answers, until last has said
// yes for every key.
func (l ketamaLab) exchange(s Server, command string, last func(line string) bool) {
	l.Helper()
	conn, err := l.dial(s)
	if err != nil {
		l.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(peerPatience))
	var all strings.Builder
	for _, key := range peerKeyList() {
		fmt.Fprintf(&all, command, key)
	}
	go func() { _, _ = io.WriteString(conn, all.String()) }() // the answers must be read meanwhile
	lines := bufio.NewScanner(conn)
	for left := peerKeys; left > 0; {
		if !lines.Scan() {
			l.Fatalf("%v: %d answers short: %v", s, left, lines.Err())
		}
		if last(lines.Text()) {
			left--
		}
	}
}

// start runs a program until the test ends, and then shows its output if the test failed.
func (l ketamaLab) start(env []string, program string, args ...string) {
	l.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), env...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		cancel()
		l.Fatal(err)
	}
	l.Cleanup(func() {
		cancel()       // kills this one, by its process id
		_ = cmd.Wait() // that it was killed
		if l.Failed() {
			l.Logf("%s said: %s", program, said.Bytes())
		}
	})
}

// dial is in two lines for go vet, which falls over net.Dial(s.Network()).
func (ketamaLab) dial(s Server) (net.Conn, error) {
	network, address := s.Network()
	return net.Dial(network, address)
}

func (l ketamaLab) awaitDial(s Server) {
	l.Helper()
	l.await(fmt.Sprint(s), func() bool {
		conn, err := l.dial(s)
		return err == nil && conn.Close() == nil
	})
}

// await looks again and again, until it is so.
func (l ketamaLab) await(what string, is func() bool) {
	l.Helper()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for until := time.Now().Add(peerPatience); !is(); <-again.C {
		if time.Now().After(until) {
			l.Fatalf("waited in vain for %s", what)
		}
	}
}
