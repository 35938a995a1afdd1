//go:build !race

package seam_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/clitest"
	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	"github.com/headgate-dev/headgate/cmd/headgate/systemtest/seam"
)

// patient is a time limit for answers that a busy machine keeps: no proxy here opens for being
// late.
const patient = "2s"

// proxy is a proxy with the files that init wrote into dir, unchanged, before a site.
type proxy struct {
	testing.TB
	dir  string
	port int
	site string
}

// behind returns a column of a proxy. name is what init calls it, door the daemon's socket that it
// asks; Caddy has no sockets.
func behind(
	name, door string, command func(*proxy) *exec.Cmd, seen []string,
) func(testing.TB, *daemon) *seam.Column {
	return func(t testing.TB, d *daemon) *seam.Column {
		t.Helper()
		c := &seam.Column{Seen: seen}
		p := &proxy{t, t.TempDir(), systemtest.Port(t), seam.OpenSite(t, c.Note).Addr().String()}
		at := "unix:" + filepath.Join(d.dir, door)
		if door == "tcp" {
			at = systemtest.Address(d.http)
		}
		if said, err := exec.Command(systemtest.Binary(t), "init", name, "--write", p.dir,
			"--address", at,
			"--timeout", patient).CombinedOutput(); err != nil {
			t.Fatalf("init: %s", said)
		}
		cmd := command(p)
		cmd.Dir, cmd.Env = p.dir, append(os.Environ(), "HOME="+p.dir, "XDG_CONFIG_HOME="+p.dir,
			"XDG_DATA_HOME="+p.dir)
		run(t, cmd)
		awaitListener(t, "tcp", systemtest.Address(p.port))
		c.Send = seam.Sender(systemtest.Address(p.port))
		return c
	}
}

func (p *proxy) read(name string) string {
	p.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		p.Fatal(err)
	}
	return string(text)
}

// nginxConf is the rest of nginx's configuration. The site is told what nginx itself reads as the
// path.
const nginxConf = `
daemon off; master_process off; error_log stderr crit; pid %[1]s/nginx.pid;
%[4]s
events { worker_connections 256; }
http {
    access_log off;
    client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/fastcgi; uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
    keepalive_requests 1000000; client_header_timeout 2s; client_body_timeout 2s;
    map $uri $served_uri { "~[\x00-\x1f\x7f]" ""; default "<$uri>"; } # a header cannot hold those
    upstream site { server %[3]s; keepalive 8; }
    %[5]s
    server {
        listen 127.0.0.1:%[2]d;
        %[6]s
        location / {
            proxy_pass http://site;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $host;
            proxy_set_header X-Served-Uri $served_uri;
        }
    }
}
`

func (p *proxy) nginx(modules, inHTTP, inServer string) *exec.Cmd {
	p.Helper()
	conf := write(p, p.dir, "nginx.conf",
		fmt.Sprintf(nginxConf, p.dir, p.port, p.site, modules, inHTTP, inServer))
	return exec.Command(clitest.ProgramPath(p, "nginx"), "-p", p.dir, "-c", conf, "-e", "stderr")
}

func (p *proxy) include(names ...string) (lines string) {
	for _, name := range names {
		lines += "include " + p.dir + "/" + name + "; "
	}
	return lines
}

func runNginx(p *proxy) *exec.Cmd {
	return p.nginx("", p.include("http.conf"), p.include("server.conf", "guard.conf"))
}

func runOpenResty(p *proxy) *exec.Cmd {
	const modules = "/usr/lib/nginx/modules/"
	if _, err := os.Stat(modules + "ngx_http_lua_module.so"); err != nil {
		p.Skip("nginx's Lua module is not installed")
	}
	load := "load_module " + modules + "ndk_http_module.so; load_module " +
		modules + "ngx_http_lua_module.so;"
	return p.nginx(load, p.include("http.conf"), p.include("server.conf"))
}

// haproxyConf is the rest of HAProxy's configuration.
const haproxyConf = `
global
    maxconn 200
%[3]s
defaults
    mode http
    timeout client  2s
    timeout connect 5s
    timeout server  5s
frontend site
    bind 127.0.0.1:%[1]d
%[4]s
    default_backend site
backend site
    server site %[2]s
%[5]s
`

func (p *proxy) haproxy(global, frontend, sections string) *exec.Cmd {
	p.Helper()
	conf := write(p, p.dir, "haproxy.cfg",
		fmt.Sprintf(haproxyConf, p.port, p.site, global, frontend, sections))
	return exec.Command(clitest.ProgramPath(p, "haproxy"), "-db", "-f", conf)
}

func runHAProxy(p *proxy) *exec.Cmd {
	frontend, sections, found := strings.Cut(p.read("headgate.cfg"), "# A section of its own.")
	if !found {
		p.Fatal("no section of its own in headgate.cfg")
	}
	return p.haproxy("", frontend, "#"+sections)
}

func runHAProxyLua(p *proxy) *exec.Cmd {
	global, frontend, found := strings.Cut(p.read("headgate.cfg"), "# In the frontend to ")
	if !found {
		p.Fatal("no lines for the frontend in headgate.cfg")
	}
	return p.haproxy(global, "#"+frontend, "")
}

// caddyConf is the rest of Caddy's configuration.
const caddyConf = `
{
	admin off
	auto_https off
}
import %[1]s/headgate.caddy
http://:%[2]d {
	bind 127.0.0.1
	reverse_proxy %[3]s {
		header_up X-Served-Uri <{http.request.uri.path}>
	}
	import headgate
}
`

func runCaddy(p *proxy) *exec.Cmd {
	p.Helper()
	// Its second address has a fixed port. With the brace behind it, for the daemon's own port may
	// begin with the same digits.
	write(p, p.dir, "headgate.caddy", strings.ReplaceAll(p.read("headgate.caddy"),
		"127.0.0.1:4299 {", systemtest.Address(systemtest.Port(p))+" {"))
	conf := write(p, p.dir, "Caddyfile", fmt.Sprintf(caddyConf, p.dir, p.port, p.site))
	return exec.Command(clitest.ProgramPath(p, "caddy"), "run", "--adapter",
		"caddyfile", "--config", conf)
}
