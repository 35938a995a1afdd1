//go:build soak

package caddy_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// overheadSites are sites of one Caddy: alone, asking by forward_auth as the snippet of headgate
// init does, and by the module.
const overheadSites = `{
	admin off
	auto_https off
	persist_config off
}
(forward) {
	forward_auth 127.0.0.1:HTTP {
		uri /v1/auth/forward
		method HEAD
		header_up -Headgate-*
	}
}
http://127.0.0.1:NONE {
	respond ok
}
http://127.0.0.1:FORWARD {
	import forward
	respond ok
}
http://127.0.0.1:MODULE {
	headgate 127.0.0.1:UDP
	respond ok
}
http://127.0.0.1:LOCAL {
	headgate unix:SOCKET
	respond ok
}
`

const overheadNode = `
listen: {udp: ["127.0.0.1:UDP", "unix:SOCKET"], http: "127.0.0.1:HTTP", admin: []}
rules: []
policies: [{name: all, match: {}, limit: 1000000000, window: 1m}]
`

// run starts a program and ends it with the test.
func run(t *testing.T, name string, args ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Stderr = os.Stderr
	c.Env = append(os.Environ(), "HOME="+t.TempDir())
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
}

// build builds a command.
func build(t *testing.T, directory, command string) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), filepath.Base(command))
	c := exec.CommandContext(t.Context(), "go", "build", "-o", program, command)
	c.Dir = directory
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// TestOverhead measures the time that headgate adds to a request of one client in Caddy, by
// forward_auth and by the module: four sites of one Caddy, asked in turns.
func TestOverhead(t *testing.T) {
	const warm, each = 500, 3000
	ports := map[string]string{"SOCKET": filepath.Join(t.TempDir(), "udp.sock")}
	for _, name := range []string{"UDP", "HTTP", "NONE", "FORWARD", "MODULE", "LOCAL"} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_, ports[name], _ = net.SplitHostPort(ln.Addr().String())
		_ = ln.Close()
	}
	file := func(name, text string) string {
		for key, value := range ports {
			text = strings.ReplaceAll(text, key, value)
		}
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	run(t, build(t, "../../..", "./cmd/headgate"), "serve", "-c",
		file("headgate.yaml", overheadNode))
	run(t, build(t, ".", "./cmd/caddy"), "run", "--config", file("Caddyfile", overheadSites))
	sites := []string{"NONE", "FORWARD", "MODULE", "LOCAL"}
	took := map[string][]time.Duration{}
	for i := range warm + each {
		for _, name := range sites {
			d := visit(t, fmt.Sprintf("http://127.0.0.1:%s/", ports[name]), i == 0)
			if i >= warm {
				took[name] = append(took[name], d)
			}
		}
	}
	for _, name := range sites {
		slices.Sort(took[name])
		at := func(name string, share float64) time.Duration {
			return took[name][int(share*each)].Round(time.Microsecond)
		}
		t.Logf("%-8s p50 %v p99 %v: more than none by p50 %v p99 %v", strings.ToLower(name),
			at(name, 0.5), at(name, 0.99),
			at(name, 0.5)-at("NONE", 0.5), at(name, 0.99)-at("NONE", 0.99))
	}
}

// visit returns how long one request took. wait: until the site is there, and headgate answers.
func visit(t *testing.T, url string, wait bool) time.Duration {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; {
		began := time.Now()
		resp, err := http.Get(url) //nolint:noctx // a loop of a benchmark
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return time.Since(began)
			}
			err = fmt.Errorf("status %s", resp.Status)
		}
		if !wait || time.Now().After(deadline) {
			t.Fatal(url, err)
		}
	}
}
