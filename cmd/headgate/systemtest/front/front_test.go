//go:build !race

package front

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/cmd/headgate/setup"
	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// The tests named TestFront… run the output of `headgate init` in its proxies.
//
//	client ──► nginx, HAProxy, Caddy ──► a site
//	                   │
//	                   └── the snippet ──► headgate serve ◄── signals

// edit changes one place of a snippet, as its comments describe.
type edit struct{ from, to string }

// front is a proxy and the details by which a test puts a snippet to work in it.
type front struct {
	name    string
	snippet string
	door    string // the daemon's, as it greets
	keyed   edit   // counts by the header X-Key; empty: the snippet cannot
	closed  edit   // refuses while headgate is gone
	policy  bool   // answers have a RateLimit-Policy
	silent  bool   // only denials have the quota
	whole   bool   // the policies decide; else the rule per-ip
	unfit   []int  // statuses for requests that are too long, or have too many parts
	command func(s *frontSite) *exec.Cmd
}

// patient is a time limit for answers that a busy machine keeps, for tests of the answers
// themselves.
const patient = "2s"

// The rule that the tests' proxies ask, by a policy or by its name, in a window that no test
// outlives, and one that never denies. The tests and the proxies share an address: the client is
// the one that the proxy saw.
const (
	frontLimit  = 5
	frontPolicy = "policies: [{name: everybody, match: {}, rules: [per-ip]}]\nclients: {hops: 1}\n"
	frontRules  = "rules: [{name: per-ip, limit: 5, window: 1h}]\n" + frontPolicy
	frontFree   = "rules: [{name: per-ip, limit: 1000000000, window: 1h}]\n" + frontPolicy
)

// believing returns the rules for a daemon that takes the address that the proxy saw for the
// client's. Over SPOP that address is the peer; over HTTP it is the last of the list.
func (f front) believing(rules string) string {
	if strings.Contains(f.door, "SPOP") {
		return strings.Replace(rules, "hops: 1", "from: peer", 1)
	}
	return rules
}

// frontNode is a daemon whose doors are on loopback and on unix sockets.
type frontNode struct {
	*systemtest.Node
	dir string
}

// startFrontNode runs a daemon with rules until the test ends.
func startFrontNode(t testing.TB, rules string) *frontNode {
	t.Helper()
	dir, err := os.MkdirTemp("", "hg") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	file := filepath.Join(dir, "headgate.yaml")
	conf := fmt.Sprintf("node: edge\nmemory: 16MiB\nlisten: {udp: ['127.0.0.1:0', "+
		"'unix:%[1]s/udp'], http: ['127.0.0.1:0', 'unix:%[1]s/http'], spop: ['127.0.0.1:0', "+
		"'unix:%[1]s/spop'], resp: '127.0.0.1:0', admin: '127.0.0.1:0'}\n", dir)
	if err := os.WriteFile(file, []byte(conf+rules), 0o600); err != nil {
		t.Fatal(err)
	}
	n := &frontNode{&systemtest.Node{TB: t, ID: "edge"}, dir}
	n.Launch(exec.Command(systemtest.Binary(t), "serve", "-c", file))
	t.Cleanup(n.Stop)
	n.AwaitDoors()
	return n
}

// signal sends one to the daemon.
func (n *frontNode) signal(sig syscall.Signal) {
	n.Helper()
	if err := n.Cmd.Process.Signal(sig); err != nil {
		n.Fatal(err)
	}
}

// pause stops the daemon's process until the test ends or continues it.
func (n *frontNode) pause() {
	n.Helper()
	n.signal(syscall.SIGSTOP)
	n.Cleanup(func() { _ = n.Cmd.Process.Signal(syscall.SIGCONT) }) // before the test stops it
	edgetest.Await(n, "the daemon is stopped", edgetest.Patience, n.stopped)
}

// stopped reports whether all of the daemon's threads are.
func (n *frontNode) stopped() bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", n.Cmd.Process.Pid))
	if err != nil || len(threads) == 0 {
		return false
	}
	return !slices.ContainsFunc(threads, func(path string) bool {
		stat, err := os.ReadFile(path)
		return err != nil || !strings.Contains(string(stat), ") T ")
	})
}

// end stops the daemon for good.
func (n *frontNode) end() {
	n.Stop()
	n.Ended = true
}

// frontSite is a proxy before a site.
type frontSite struct {
	testing.TB
	dir     string // holds the snippet's files, and all the rest
	port    int
	bare    int // the port that is not guarded
	backend string
	served  atomic.Int64 // requests that came through
	said    *edgetest.Log
	process *os.Process // the proxy

	exporting chan struct{} // an export sends when it is at the site, and receives to go on

	held chan struct{} // when closed, the site answers guesses with the header X-Held

	reportTo string // where the site itself reports failed logins with a ticket; empty: nowhere
}

// before runs the proxy with the snippet that init writes for args, edited, until the test ends.
func (f front) before(t testing.TB, edits []edit, args ...string) *frontSite {
	t.Helper()
	s := &frontSite{
		TB: t, dir: t.TempDir(), port: systemtest.Port(t), bare: systemtest.Port(t),
		said: &edgetest.Log{}, exporting: make(chan struct{}), held: make(chan struct{}),
	}
	s.openBackend()
	var said bytes.Buffer
	args = append([]string{"init", f.snippet, "--write", s.dir}, args...)
	if !f.whole && !slices.Contains(args, "--rule") {
		args = append(args, "--rule", "per-ip")
	}
	if f.snippet == "nginx" {
		args = append(args, "--access-log", "none")
	}
	if f.whole && (f.snippet == "nginx" || strings.HasPrefix(f.snippet, "haproxy")) &&
		!slices.Contains(args, "--udp") && !slices.Contains(args, "-c") {
		args = append(args, "--udp", "none")
	}
	if code := systemtest.RunCommand(t.Context(), cli.Entry{Build: setup.Init}, args, &said,
		&said); code != 0 {
		t.Fatalf("init: %s", &said)
	}
	for _, e := range edits {
		s.edit(e)
	}
	cmd := f.command(s)
	cmd.Stdout, cmd.Stderr, cmd.Dir = s.said, s.said, s.dir
	cmd.Env = append(os.Environ(), "HOME="+s.dir, "XDG_CONFIG_HOME="+s.dir, "XDG_DATA_HOME="+s.dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.process = cmd.Process
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // that it was killed
		if t.Failed() {
			t.Logf("%s said: %s", f.snippet, s.said)
		}
	})
	edgetest.Await(t, f.snippet+" listens", edgetest.Patience, func() bool {
		conn, err := net.Dial("tcp", systemtest.Address(s.port))
		return err == nil && conn.Close() == nil
	})
	return s
}

// openBackend serves the site: pages with the number of bytes received, and some that are never
// allowed.
func (s *frontSite) openBackend() {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.served.Add(1)
		if strings.HasPrefix(r.URL.Path, "/private/") {
			http.Error(w, "the site's own no", http.StatusForbidden)
			return
		}
		if r.Header.Get("X-Held") != "" {
			<-s.held
		}
		if r.URL.Path == "/login/fails" ||
			r.Method == http.MethodPost && r.URL.Path == "/login" &&
				r.Header.Get("X-Password") != "right" {
			s.report(r.Header.Get("Headgate-Ticket"), http.StatusUnauthorized)
			http.Error(w, "wrong password", http.StatusUnauthorized)
			return
		}
		if r.URL.Path == "/login" {
			s.report(r.Header.Get("Headgate-Ticket"), http.StatusOK)
		}
		if strings.HasPrefix(r.URL.Path, "/export/") {
			s.exporting <- struct{}{}
			<-s.exporting
			s.report(r.Header.Get("Headgate-Ticket"), http.StatusOK)
		}
		if value := r.Header.Get("X-Value"); value != "" {
			w.Header().Set("X-Value", value)
		}
		sent, _ := io.Copy(io.Discard, r.Body)
		fmt.Fprintf(w, "the page, for %d bytes\n", sent)
	}))
	s.Cleanup(backend.Close)
	s.backend = backend.Listener.Addr().String()
}

// report reports a response, as a site does before which the proxy cannot: a login that succeeds
// too, or its place stays taken.
func (s *frontSite) report(ticket string, status int) {
	if s.reportTo == "" || ticket == "" {
		return
	}
	//nolint:gosec // an address of the test's own daemon
	resp, err := http.Get(fmt.Sprintf("%s?status=%d&ticket=%s", s.reportTo, status, ticket))
	if err != nil {
		s.Error(err)
		return
	}
	_ = resp.Body.Close()
}

// edit does e in the one place of the snippet where it belongs.
func (s *frontSite) edit(e edit) {
	s.Helper()
	files, err := filepath.Glob(filepath.Join(s.dir, "*"))
	if err != nil {
		s.Fatal(err)
	}
	places := 0
	for _, file := range files {
		text := s.read(filepath.Base(file))
		places += strings.Count(text, e.from)
		to := strings.ReplaceAll(e.to, "http://backend", "http://"+s.backend)
		s.write(filepath.Base(file), strings.ReplaceAll(text, e.from, to))
	}
	if places != 1 {
		s.Fatalf("%q stands in %d places of the snippet", e.from, places)
	}
}

func (s *frontSite) read(name string) string {
	s.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		s.Fatal(err)
	}
	return string(text)
}

func (s *frontSite) write(name, text string) string {
	s.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		s.Fatal(err)
	}
	return path
}

// frontReply is an answer, read whole.
type frontReply struct {
	*http.Response
	body string
	took time.Duration
}

func (s *frontSite) get(path string, header ...string) frontReply {
	s.Helper()
	return s.do(http.MethodGet, path, nil, header...)
}

// do sends a request with headers, name after value, on a connection that is kept.
func (s *frontSite) do(method, path string, body io.Reader, header ...string) frontReply {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), edgetest.Patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+systemtest.Address(s.port)+path, body)
	if err != nil {
		s.Fatal(err)
	}
	for i := 1; i < len(header); i += 2 {
		req.Header.Add(header[i-1], header[i])
	}
	began := time.Now()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // only read from
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Fatal(err)
	}
	return frontReply{resp, string(all), time.Since(began)}
}
