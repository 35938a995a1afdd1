//go:build !race

package front

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/clitest"
	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// Proxies that no package of Debian's has: ingress-nginx's locations run in the real nginx, and for
// Traefik and Envoy a stand-in sends what their documentation says, by the file that init writes.

// standInPolicies are what the stand-ins are asked about.
const standInPolicies = `
rules: []
policies:
  - {name: scanners, match: {path: "/.env"}, deny: 404}
  - {name: far, match: {country: NZ}, deny: 451}
  - {name: keyed, match: {header.x-api-key: bad}, deny: 410}
  - {name: api, match: {host: api.example.com, path: "/v2/**", method: GET}, limit: 2, window: 1h}
`

// standInVisits are visits in their order: those of a limit have 429, and denials by a policy its
// status.
var standInVisits = []struct {
	visit
	want int
}{
	{visit{path: "/"}, 200},
	{visit{path: "/.env"}, 404},
	{visit{path: "/x/../.env?a=b"}, 404},
	{visit{path: "/", header: []string{"X-Api-Key", "bad"}}, 410},
	{visit{path: "/", header: []string{"Headgate-Country", "NZ"}}, 200}, // a visitor's own
	// what ingress-nginx does not set itself
	{visit{path: "/.env", header: []string{"X-Original-URI", "/"}}, 404},
	// a fault would let it pass
	{visit{path: "/.env", header: []string{"X-Original-URI", "nowhere"}}, 404},
	{visit{host: "api.example.com", path: "/v2/a?b"}, 200},
	{visit{host: "api.example.com", method: "DELETE", path: "/v2/a"}, 200},
	{visit{host: "api.example.com", path: "/v2/b"}, 200},
	{visit{host: "api.example.com", path: "/v2/c"}, 429},
	{
		visit{
			host: "api.example.com",
			path: "/v2/c",
			header: []string{
				"X-Original-Url", "http://www.example.com/", "X-Forwarded-Host", "a",
				"X-Forwarded-Uri", "/", "X-Forwarded-Method", "PUT",
			},
		},
		429,
	},
	{visit{host: "www.example.com", path: "/v2/c"}, 200},
	{visit{path: "/private/"}, 403}, // the site's own no
}

// tryStandIn makes the visits.
func (s *frontSite) tryStandIn() {
	s.Helper()
	for _, v := range standInVisits {
		r := s.visit(v.visit)
		if r.StatusCode != v.want || v.want == http.StatusTooManyRequests &&
			r.Header.Get("Retry-After") == "" {
			s.Errorf("%s %s%s: %d %v, want %d", v.method, siteHost(v.visit), v.path,
				r.StatusCode, r.Header, v.want)
		}
	}
}

// ingressConf is what ingress-nginx 1.x writes for an Ingress with these annotations: the parts are
// directory, port, backend, auth-url, auth-snippet, configuration-snippet and server-snippet.
const ingressConf = `
daemon off; master_process off; error_log stderr; pid %[1]s/nginx.pid;
events { worker_connections 256; }
http {
    access_log off;
    client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/fastcgi; uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
    server {
        listen 127.0.0.1:%[2]d;
        location = /_external-auth-Lw-Prefix {
            internal;
            access_log off;
            proxy_pass_request_body off;
            proxy_set_header Content-Length "";
            proxy_set_header X-Forwarded-Proto "";
            proxy_set_header X-Request-ID $request_id;
            proxy_set_header Host headgate.headgate.svc.cluster.local;
            proxy_set_header X-Original-URL $scheme://$http_host$request_uri;
            proxy_set_header X-Original-Method $request_method;
            proxy_set_header X-Sent-From "nginx-ingress-controller";
            proxy_set_header X-Real-IP $remote_addr;
            proxy_set_header X-Forwarded-For $remote_addr;
            proxy_buffering off;
            proxy_http_version 1.1;
            %[5]s
            set $target %[4]s;
            proxy_pass $target;
        }
        %[7]s
        location / {
            auth_request /_external-auth-Lw-Prefix;
            auth_request_set $auth_cookie $upstream_http_set_cookie;
            add_header Set-Cookie $auth_cookie;
            proxy_set_header Host $http_host;
            %[6]s
            proxy_pass http://%[3]s;
        }
    }
}
`

// annotation returns the value of an annotation of the file that init wrote: a text in quotes, or a
// block.
func annotation(t *testing.T, file, name string) string {
	t.Helper()
	_, text, found := strings.Cut(file, "nginx.ingress.kubernetes.io/"+name+": ")
	if !found {
		t.Fatalf("no annotation %s", name)
	}
	text, _, _ = strings.Cut(text, "\n    nginx.")
	return strings.Trim(strings.TrimPrefix(strings.TrimSpace(text), "|\n"), `"`)
}

// TestFrontIngress: the annotations for ingress-nginx deny and let pass in the locations that it
// makes.
func TestFrontIngress(t *testing.T) {
	n := startFrontNode(t, standInPolicies)
	f := front{
		name: "ingress-nginx", snippet: "ingress-nginx",
		door: "decisions, HTTP", whole: true,
	}
	f.command = func(s *frontSite) *exec.Cmd {
		file := s.read("headgate.yaml")
		conf := s.write("nginx.conf",
			fmt.Sprintf(ingressConf, s.dir, s.port, s.backend, annotation(t, file, "auth-url"),
				annotation(t, file, "auth-snippet"), annotation(t, file, "configuration-snippet"),
				annotation(t, file, "server-snippet")))
		return exec.Command(clitest.ProgramPath(s, "nginx"), "-p", s.dir, "-c",
			conf, "-e", "stderr")
	}
	s := f.before(t, nil, n.at(f, patient)...)
	s.tryStandIn()
	for _, host := range []string{"a?", "a#", "a@b?c#d"} { // a site in Go would answer 400
		if got := s.raw("GET /.env HTTP/1.1\r\nHost: " + host + "\r\n"); got != 404 {
			t.Errorf("Host: %s: %d", host, got)
		}
	}
	n.end()
	if r := s.visit(visit{path: "/"}); r.StatusCode != http.StatusOK {
		t.Errorf("without headgate: %d", r.StatusCode)
	}
}

// standIn is a proxy that asks before it passes a request on.
func standIn(
	t *testing.T, n *frontNode, name string, ask func(file string, r *http.Request) *http.Request,
) *frontSite {
	t.Helper()
	s := &frontSite{TB: t, dir: t.TempDir(), said: &edgetest.Log{}, exporting: make(chan struct{})}
	s.openBackend()
	args := []string{
		"init", name, "--write", s.dir, "--address",
		n.at(front{door: "decisions, HTTP"}, patient)[1],
	}
	if out, err := exec.Command(systemtest.Binary(t), args...).CombinedOutput(); err != nil {
		t.Fatalf("init: %s", out)
	}
	files, err := filepath.Glob(filepath.Join(s.dir, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%q %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	site := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: s.backend})
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		question := ask(string(text), r)
		answer, err := http.DefaultTransport.RoundTrip(question)
		if err != nil {
			t.Error(err)
			return
		}
		defer answer.Body.Close() //nolint:errcheck // only read from
		if answer.StatusCode == http.StatusOK {
			site.ServeHTTP(w, r)
			return
		}
		for _, name := range []string{"Retry-After", "RateLimit", "Content-Type"} {
			w.Header().Set(name, answer.Header.Get(name))
		}
		w.WriteHeader(answer.StatusCode)
		_, _ = io.Copy(w, answer.Body)
	}))
	t.Cleanup(proxy.Close)
	if _, err := fmt.Sscanf(proxy.URL, "http://127.0.0.1:%d", &s.port); err != nil {
		t.Fatal(err)
	}
	return s
}

// question returns a request to headgate with a context of r.
func question(t *testing.T, r *http.Request, method, target string) *http.Request {
	t.Helper()
	q, err := http.NewRequestWithContext(r.Context(), method, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

var (
	traefikAddress = regexp.MustCompile(`address: "(http://[^"]+)"`)
	traefikStrips  = regexp.MustCompile(`(?m)^ +([A-Za-z0-9-]+): ""$`)
	envoyURI       = regexp.MustCompile(`uri: "(http://[^"]+)"`)
	envoyPrefix    = regexp.MustCompile(`path_prefix: (\S+)`)
	envoyHeaders   = regexp.MustCompile(`(?s)allowed_headers: .*?patterns: \[(.*?)\]\n`)
	envoyExact     = regexp.MustCompile(`exact: ([a-z-]+)`)
)

// TestFrontTraefik: forwardAuth sends a GET with all headers, and the request's own line in
// X-Forwarded-…, unless these came with the request from a trusted address: so Traefik 3.7.13.
func TestFrontTraefik(t *testing.T) {
	n := startFrontNode(t, standInPolicies)
	s := standIn(t, n, "traefik", func(file string, r *http.Request) *http.Request {
		for _, m := range traefikStrips.FindAllStringSubmatch(file, -1) {
			r.Header.Del(m[1])
		}
		q := question(t, r, http.MethodGet, traefikAddress.FindStringSubmatch(file)[1])
		q.Header = r.Header.Clone()
		for name, value := range map[string]string{
			"Method": r.Method, "Uri": r.RequestURI, "Host": r.Host, "For": "127.0.0.1",
		} { // trustForwardHeader: true
			if name = "X-Forwarded-" + name; q.Header.Get(name) == "" {
				q.Header.Set(name, value)
			}
		}
		return q
	})
	s.tryStandIn()
}

// TestFrontEnvoy: ext_authz over HTTP sends the request's line behind the prefix, Host, and the
// allowed headers only.
func TestFrontEnvoy(t *testing.T) {
	n := startFrontNode(t, standInPolicies)
	s := standIn(t, n, "envoy-authz", func(file string, r *http.Request) *http.Request {
		q := question(t, r, r.Method, envoyURI.FindStringSubmatch(file)[1])
		q.URL.Opaque = envoyPrefix.FindStringSubmatch(file)[1] + r.RequestURI
		q.Host = r.Host
		for _, m := range envoyExact.FindAllStringSubmatch(envoyHeaders.FindStringSubmatch(file)[1],
			-1) {
			if v := r.Header.Get(m[1]); v != "" {
				q.Header.Set(m[1], v)
			}
		}
		q.Header.Set("X-Forwarded-For", "127.0.0.1")
		return q
	})
	s.tryStandIn()
}
