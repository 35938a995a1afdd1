package edge

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/mitigation"
)

// nginxRule is the rule the deployed snippet asks for, small enough to reach its limit.
var nginxRule = mitigation.Rule{Name: "per-ip", Limit: 5, Window: time.Hour, Action: mitigation.Shed}

// nginxConf is the site: static pages behind the deployed snippet, one place that is never allowed, and nothing outside
// its own directory. Its parts are the port, the directory and the two files of deploy/nginx.
const nginxConf = `
daemon off;
master_process off;
error_log %[2]s/error.log;
pid %[2]s/nginx.pid;
events { worker_connections 64; }
http {
    access_log off;
    client_body_temp_path %[2]s/body;
    proxy_temp_path %[2]s/proxy;
    fastcgi_temp_path %[2]s/fastcgi;
    uwsgi_temp_path %[2]s/uwsgi;
    scgi_temp_path %[2]s/scgi;
    include %[2]s/headgate-upstream.conf;
    server {
        listen 127.0.0.1:%[1]d;
        root %[2]s/site;
        include %[2]s/headgate.conf;
        location / { }
        location /private/ { deny all; }
    }
}
`

// TestNginx runs the deployed recipe in a real nginx before a real node. The tests with nginx run one after the other: its
// 20 ms for an answer are part of the recipe, and a crowd of tests on few cores would use them up.
func TestNginx(t *testing.T) {
	node := openNode(t, nginxRule)
	site := startNginx(t, node.addr)

	for left := nginxRule.Limit - 1; left >= 0; left-- {
		r := site.get(t, "/", nil)
		if r.StatusCode != http.StatusOK || r.body != "the page\n" {
			t.Fatalf("with %d left: status %d, %q", left+1, r.StatusCode, r.body)
		}
		site.checkHeaders(t, r, left)
	}
	r := site.get(t, "/", nil)
	if r.StatusCode != http.StatusTooManyRequests || r.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("past the limit: status %d, %v", r.StatusCode, r.Header)
	}
	site.checkHeaders(t, r, 0)
	if after, err := strconv.Atoi(r.Header.Get("Retry-After")); err != nil || after < 1 || after > 3600 {
		t.Errorf("Retry-After: %q", r.Header.Get("Retry-After"))
	}
	if s := node.Stats(); s.Accepted != 1 || s.Refused != 0 {
		t.Errorf("nginx did not keep its connection, or asked badly: %+v", s)
	}

	if err := node.stop(); err != nil {
		t.Error(err)
	}
	for range 2 * nginxRule.Limit {
		if r := site.get(t, "/", nil); r.StatusCode != http.StatusOK || r.Header.Get("RateLimit") != "" {
			t.Errorf("without headgate: status %d, %v", r.StatusCode, r.Header)
		}
	}
}

// TestNginxKeepsItsOwn403 checks that what the site refuses by itself stays a 403, with headgate and without.
func TestNginxKeepsItsOwn403(t *testing.T) {
	node := openNode(t, nginxRule)
	site := startNginx(t, node.addr)
	for range 2 {
		if r := site.get(t, "/private/", nil); r.StatusCode != http.StatusForbidden || r.Header.Get("Retry-After") != "" {
			t.Errorf("status %d, %v", r.StatusCode, r.Header)
		}
		_ = node.stop()
	}
}

// TestNginxLargeCookies checks that 14 KB of a client's cookies change nothing.
func TestNginxLargeCookies(t *testing.T) {
	node := openNode(t, nginxRule)
	site := startNginx(t, node.addr)
	header := http.Header{}
	for range 2 {
		header.Add("Cookie", "c="+strings.Repeat("x", 7000))
	}
	r := site.get(t, "/", header)
	if r.StatusCode != http.StatusOK {
		t.Errorf("status %d", r.StatusCode)
	}
	site.checkHeaders(t, r, nginxRule.Limit-1)
}

// TestNginxPassesErrors checks that an unknown rule, a hanging headgate and one that is not there let every request pass.
func TestNginxPassesErrors(t *testing.T) {
	hanging, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = hanging.Close() }()
	other := nginxRule
	other.Name = "another"
	for name, addr := range map[string]net.Addr{"unknown rule": openNode(t, other).addr, "hanging": hanging.Addr()} {
		t.Run(name, func(t *testing.T) {
			site := startNginx(t, addr)
			started := time.Now()
			for range 3 {
				if r := site.get(t, "/", nil); r.StatusCode != http.StatusOK || r.Header.Get("RateLimit") != "" {
					t.Errorf("status %d, %v", r.StatusCode, r.Header)
				}
			}
			if took := time.Since(started); took > patience { // three times 40 ms, and much for a busy machine
				t.Errorf("took %v", took)
			}
		})
	}
}

// TestNginxUnixSocket checks the recipe over a unix socket.
func TestNginxUnixSocket(t *testing.T) {
	e := newNode(t, nginxRule)
	ln, err := ListenHTTP(t.Context(), config.Address{Path: filepath.Join(t.TempDir(), "http.sock")})
	if err != nil {
		t.Fatal(err)
	}
	d := serveDoor(t, NewHTTP(e, e.Lane(0)), ln)
	site := startNginx(t, d.addr)
	site.checkHeaders(t, site.get(t, "/", nil), nginxRule.Limit-1)
}

func newNode(t *testing.T, rule mitigation.Rule) *Edge {
	t.Helper()
	cfg := config.Default()
	cfg.Rules = []mitigation.Rule{rule}
	e, err := New(cfg, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// openNode serves a node with one rule on a loopback port.
func openNode(t *testing.T, rule mitigation.Rule) *door {
	t.Helper()
	e := newNode(t, rule)
	ln, err := ListenHTTP(t.Context(), config.Address{Host: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	return serveDoor(t, NewHTTP(e, e.Lane(0), e.Lane(1)), ln)
}

// nginxSite is a running nginx.
type nginxSite struct{ url string }

func (s nginxSite) get(t *testing.T, path string, header http.Header) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if header != nil {
		req.Header = header
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var body bytes.Buffer
	if _, err := body.ReadFrom(resp.Body); err != nil {
		t.Fatal(err)
	}
	return reply{resp, body.String()}
}

// checkHeaders checks what a client is told of its quota.
func (nginxSite) checkHeaders(t *testing.T, r reply, remaining int64) {
	t.Helper()
	if got, want := r.Header.Get("RateLimit-Policy"), fmt.Sprintf(`"per-ip";q=%d;w=3600`, nginxRule.Limit); got != want {
		t.Errorf("RateLimit-Policy: %s, want %s", got, want)
	}
	got, want := r.Header.Values("RateLimit"), fmt.Sprintf(`"per-ip";r=%d;t=`, remaining)
	if len(got) != 1 || !strings.HasPrefix(got[0], want) {
		t.Errorf("RateLimit: %q, want one beginning with %s", got, want)
	}
}

// startNginx runs nginx, asking headgate at addr, until the test ends.
func startNginx(t *testing.T, addr net.Addr) nginxSite {
	t.Helper()
	program, err := exec.LookPath("nginx")
	if err != nil {
		t.Skip("nginx is not installed")
	}
	dir, port := t.TempDir(), freePort(t)
	writeSite(t, dir, addr)
	conf := filepath.Join(dir, "nginx.conf")
	writeFile(t, conf, fmt.Sprintf(nginxConf, port, dir))

	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, "-p", dir, "-c", conf, "-e", filepath.Join(dir, "error.log"))
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()       // kills this nginx, by its process id
		_ = cmd.Wait() // that it was killed
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(dir, "error.log"))
			t.Logf("nginx said: %s%s", said.Bytes(), log)
		}
	})
	at := fmt.Sprintf("127.0.0.1:%d", port)
	waitFor(t, func() bool { return answers(at) })
	return nginxSite{url: "http://" + at}
}

// writeSite puts the page and the deployed files into dir, the port of headgate in them replaced by addr.
func writeSite(t *testing.T, dir string, addr net.Addr) {
	t.Helper()
	if err := os.Mkdir(filepath.Join(dir, "site"), 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "site", "index.html"), "the page\n")
	const deployed = "server 127.0.0.1:4291;"
	server := "server " + addr.String() + ";"
	if addr.Network() == "unix" {
		server = "server unix:" + addr.String() + ";"
	}
	for _, name := range []string{"headgate-upstream.conf", "headgate.conf"} {
		text, err := os.ReadFile(filepath.Join("..", "deploy", "nginx", name))
		if err != nil {
			t.Fatal(err)
		}
		if name == "headgate-upstream.conf" && !strings.Contains(string(text), deployed) {
			t.Fatalf("%s does not say %q", name, deployed)
		}
		writeFile(t, filepath.Join(dir, name), strings.ReplaceAll(string(text), deployed, server))
	}
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// freePort returns a port nobody listened on a moment ago.
func freePort(t *testing.T) int {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	return ln.Addr().(*net.TCPAddr).Port
}

func answers(at string) bool {
	c, err := net.Dial("tcp", at)
	if err != nil {
		return false
	}
	return c.Close() == nil
}
