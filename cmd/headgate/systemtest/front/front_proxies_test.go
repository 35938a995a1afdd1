//go:build !race

package front

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/headgate-dev/headgate/cmd/headgate/clitest"
	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
)

// fronts are the proxies that there is a snippet for: by policies, and for one rule.
var fronts = []front{
	{
		name: "nginx", snippet: "nginx", door: "decisions, HTTP", command: runNginx, policy: true,
		whole: true, unfit: []int{403},
		closed: edit{
			"    set $headgate_verdict gone;\n    return 204;",
			"    set $headgate_verdict gone;\n    return 403;",
		},
	},
	{
		name: "openresty", snippet: "openresty", door: "decisions, datagrams",
		command: runOpenResty, whole: true, unfit: []int{414, 431},
		closed: edit{"open = true,", "open = false,"},
	},
	{
		name: "haproxy", snippet: "haproxy", door: "decisions, SPOP", command: runHAProxySPOE,
		policy: true, whole: true, unfit: []int{414, 431},
		closed: edit{"#http-request return status 503", "http-request return status 503"},
	},
	{
		name: "haproxy-lua", snippet: "haproxy-lua", door: "decisions, HTTP", command: runHAProxy,
		policy: true, whole: true, unfit: []int{414, 431},
		closed: edit{"#http-request return status 503", "http-request return status 503"},
	},
	{
		name: "caddy", snippet: "caddy", door: "decisions, HTTP", command: runCaddy, policy: true,
		silent: true, whole: true, unfit: []int{400},
		closed: edit{" 127.0.0.1:4299 {\n\t\turi", " {\n\t\turi"},
	},
	{
		name: "nginx-rule", snippet: "nginx", door: "decisions, HTTP",
		command: runNginxRule, policy: true,
		closed: edit{
			"    set $headgate_verdict gone;\n    return 204;",
			"    set $headgate_verdict gone;\n    return 403;",
		},
	},
	{
		name: "nginx-lua", snippet: "nginx-lua", door: "decisions, datagrams", command: runNginxLua,
		keyed:  edit{"local key = ngx.var.remote_addr", "local key = ngx.var.http_x_key"},
		closed: edit{"local open = true", "local open = false"},
	},
	{
		name: "haproxy-rule", snippet: "haproxy", door: "decisions, HTTP",
		command: runHAProxy, policy: true,
		keyed:  edit{"set-var(txn.headgate_key) src", "set-var(txn.headgate_key) req.fhdr(X-Key)"},
		closed: edit{"#http-request return status 503", "http-request return status 503"},
	},
	{
		name: "caddy-rule", snippet: "caddy", door: "decisions, HTTP", command: runCaddy,
		policy: true, silent: true,
		keyed:  edit{"&key={http.request.remote.host}", "&key=k:{http.request.header.X-Key}"},
		closed: edit{" 127.0.0.1:4299 {\n\t\t#", " {\n\t\t#"},
	},
}

// nginxConf is the rest of nginx's configuration: a site, static pages that take detours, and
// nothing outside its own directory; and the site again, unguarded. It takes more headers than
// headgate does. Its parts are the directory, the port, the site, the modules, the lines of the
// snippet for http and for server, and the unguarded port.
const nginxConf = `
daemon off;
master_process off;
error_log stderr;
pid %[1]s/nginx.pid;
%[4]s
events { worker_connections 1024; }
http {
    access_log off;
    large_client_header_buffers 32 32k;
    client_body_temp_path %[1]s/body;
    proxy_temp_path %[1]s/proxy;
    fastcgi_temp_path %[1]s/fastcgi;
    uwsgi_temp_path %[1]s/uwsgi;
    scgi_temp_path %[1]s/scgi;
    %[5]s
    server {
        listen 127.0.0.1:%[2]d;
        root %[1]s/pages;
        %[6]s
        location / { proxy_pass http://%[3]s; }
        location /detour/ { try_files /none @elsewhere; }
        location /static/ { alias %[1]s/pages/; index index.html; }
        location /denied/ { deny all; }
        location @elsewhere { proxy_pass http://%[3]s; }
    }
    server {
        listen 127.0.0.1:%[7]d;
        location / { proxy_pass http://%[3]s; }
    }
}
`

func runNginx(s *frontSite) *exec.Cmd {
	return nginx(s, "", s.include("http.conf"), s.include("server.conf", "guard.conf"))
}

func runNginxRule(s *frontSite) *exec.Cmd {
	return nginx(s, "", s.include("headgate-upstream.conf"), s.include("headgate.conf"))
}

// include returns the directives by which nginx includes files of the snippet.
func (s *frontSite) include(names ...string) (lines string) {
	for _, name := range names {
		lines += "include " + s.dir + "/" + name + "; "
	}
	return lines
}

func runNginxLua(s *frontSite) *exec.Cmd {
	return nginxWithLua(s, "", s.include("headgate-lua.conf"))
}

func runOpenResty(s *frontSite) *exec.Cmd {
	return nginxWithLua(s, s.include("http.conf"), s.include("server.conf"))
}

func nginxWithLua(s *frontSite, inHTTP, inServer string) *exec.Cmd {
	const modules = "/usr/lib/nginx/modules/"
	if _, err := os.Stat(modules + "ngx_http_lua_module.so"); err != nil {
		s.Skip("nginx's Lua module is not installed")
	}
	load := "load_module " + modules + "ndk_http_module.so; load_module " +
		modules + "ngx_http_lua_module.so;"
	return nginx(s, load, inHTTP, inServer)
}

func nginx(s *frontSite, modules, inHTTP, inServer string) *exec.Cmd {
	s.Helper()
	if err := os.Mkdir(filepath.Join(s.dir, "pages"), 0o755); err != nil {
		s.Fatal(err)
	}
	s.write("pages/index.html", "the page\n")
	conf := s.write("nginx.conf",
		fmt.Sprintf(nginxConf, s.dir, s.port, s.backend, modules, inHTTP, inServer, s.bare))
	return exec.Command(clitest.ProgramPath(s, "nginx"), "-p", s.dir, "-c", conf, "-e", "stderr")
}

// haproxyConf is the rest of HAProxy's configuration. Its parts are the port, the site, the
// unguarded port, and the snippet's lines for global and for the frontend.
const haproxyConf = `
global
    maxconn 200
%[4]s
defaults
    mode http
    timeout client  30s
    timeout connect 5s
    timeout server  30s
frontend site
    bind 127.0.0.1:%[1]d
%[5]s
    default_backend site
frontend bare
    bind 127.0.0.1:%[3]d
    default_backend site
backend site
    server site %[2]s
`

func runHAProxy(s *frontSite) *exec.Cmd {
	s.Helper()
	const next = "# In the frontend to "
	global, frontend, found := strings.Cut(s.read("headgate.cfg"), next)
	if !found {
		s.Fatalf("no %q in headgate.cfg", next)
	}
	conf := s.write("haproxy.cfg",
		fmt.Sprintf(haproxyConf, s.port, s.backend, s.bare, global, next+frontend))
	return exec.Command(clitest.ProgramPath(s, "haproxy"), "-db", "-f", conf)
}

func runHAProxySPOE(s *frontSite) *exec.Cmd {
	s.Helper()
	frontend, backend, found := strings.Cut(s.read("headgate.cfg"), "# A section of its own.")
	if !found {
		s.Fatal("no section of its own in headgate.cfg")
	}
	conf := s.write("haproxy.cfg",
		fmt.Sprintf(haproxyConf, s.port, s.backend, s.bare, "", frontend)+"#"+backend)
	return exec.Command(clitest.ProgramPath(s, "haproxy"), "-db", "-f", conf)
}

// caddyConf is the rest of Caddy's configuration: handlers that come before most others. Its parts
// are the directory, the port, the site and the unguarded port.
const caddyConf = `
{
	admin off
	auto_https off
}
import %[1]s/headgate.caddy
http://:%[2]d {
	bind 127.0.0.1
	handle /detour/* {
		reverse_proxy %[3]s
	}
	reverse_proxy /private/* %[3]s
	reverse_proxy %[3]s
	import headgate
}
http://:%[4]d {
	bind 127.0.0.1
	reverse_proxy %[3]s
}
`

func runCaddy(s *frontSite) *exec.Cmd {
	s.Helper()
	// Its port is a fixed one. With the brace behind it, for the daemon's own port may begin with
	// the same digits.
	text := s.read("headgate.caddy")
	s.write("headgate.caddy", strings.ReplaceAll(text, "127.0.0.1:4299 {",
		systemtest.Address(systemtest.Port(s))+" {"))
	conf := s.write("Caddyfile", fmt.Sprintf(caddyConf, s.dir, s.port, s.backend, s.bare))
	return exec.Command(clitest.ProgramPath(s, "caddy"), "run", "--adapter",
		"caddyfile", "--config", conf)
}
