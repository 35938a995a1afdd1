package caddy_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	_ "github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/headers"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/rewrite"

	"github.com/headgate-dev/headgate/edge"
	"github.com/headgate-dev/headgate/edge/config"
)

// patience is how long a request of a test waits: only a broken test does.
const patience = "5s"

const policies = `
node: test
memory: 4MiB
rules: [{name: login, limit: 2, window: 1h}]
policies:
  - {name: scanners, match: {path: "/.env"}, deny: 404}
  - {name: sessions, match: {cookie.session: evil}, deny: 403}
  - {name: failures, match: {path: "/login"}, count_when: {status: 401}, limit: 2, window: 1h}
  - {name: once, match: {path: "/once/**"}, key: [client, header.x-api-key], limit: 1, window: 1h}
  - {name: gold, match: {tier: gold}, limit: 1, window: 1h}
  - {name: slow, match: {path: "/slow"}, kind: concurrency, limit: 1, lease: 1h}
  - {name: bytes, match: {path: "/bytes"}, key: all, cost: {of: response.header.content-length, max: 1000000}, limit: 900000, window: 1h}
  - {name: queue, match: {path: "/queue"}, limit: 1, window: 1s, burst: 1, delay: 20s}
  - {name: held, match: {path: "/held"}, kind: concurrency, limit: 2, lease: 1h}
  - {name: later, match: {path: "/held"}, limit: 1, window: 20s, burst: 1, delay: 1m}
  - {name: trap, match: {path: "/form"}, limit: 1, window: 1h, on_deny: {deceive: true}}
  - {name: silent, match: {path: "/silent"}, limit: 1, window: 1h, on_deny: {announce: false, status: 403}}
`

// startNode runs a node whose datagrams come to a unix socket at path, or elsewhere, until stop is
// called or the test ends.
func startNode(t *testing.T, text, udp string) (node *edge.Node, stop func()) {
	t.Helper()
	cfg, err := config.Parse("test",
		[]byte(text+"listen: {udp: \""+udp+"\", http: [], admin: []}\n"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if node, err = edge.New(ctx,
		edge.Options{Config: &cfg, Log: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- node.Run(ctx) }()
	var stopped atomic.Bool
	stop = func() {
		if !stopped.Swap(true) {
			cancel()
			<-done
		}
	}
	t.Cleanup(stop)
	return node, stop
}

// origin is the site behind: a handler that a test sets.
type origin struct{}

// serve is what origin does now.
var serve atomic.Pointer[http.HandlerFunc]

func (origin) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.origin",
		New: func() caddy.Module { return new(origin) },
	}
}

func (origin) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	if r.URL.Path == "/fails" {
		return caddyhttp.Error(http.StatusUnauthorized, io.EOF)
	}
	(*serve.Load())(w, r)
	return nil
}

func init() {
	caddy.RegisterModule(origin{})
	httpcaddyfile.RegisterHandlerDirective("origin",
		func(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
			h.Next()
			return origin{}, nil
		})
	httpcaddyfile.RegisterDirectiveOrder("origin", httpcaddyfile.After, "respond")
}

// site is a Caddy that runs in this process.
type site struct {
	*testing.T
	client http.Client
}

// adapt returns the configuration that a Caddyfile with body as its one site makes.
func adapt(body, socket string) ([]byte, error) {
	text := "{\n\tadmin off\n\tauto_https off\n\tpersist_config off\n\tlog {\n\t\tlevel FATAL\n\t}\n}\nhttp://site.test {\n\tbind unix/" + socket + "\n" + body + "\n}\n"
	out, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(text), nil)
	return out, err
}

// start runs Caddy with a site until the test ends, in place of the one that ran before. do is what
// the origin does.
func start(t *testing.T, body string, do http.HandlerFunc) *site {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "caddy.sock")
	configuration, err := adapt(body, socket)
	if err != nil {
		t.Fatal(err)
	}
	serve.Store(&do)
	if err := caddy.Load(configuration, true); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = caddy.Stop() })
	return &site{T: t, client: http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}}}
}

// get sends a request with headers, name, value and so on, and returns the response, its body read.
func (s *site) get(path string, headers ...string) *http.Response {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), http.MethodGet, "http://site.test"+path, nil)
	if err != nil {
		s.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	resp, err := s.client.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(strings.NewReader(string(body)))
	return resp
}

// says fails the test unless the answers to path are of these statuses, one after the other.
func (s *site) says(path string, want ...int) {
	s.Helper()
	for n, status := range want {
		if got := s.get(path).StatusCode; got != status {
			s.Errorf("%s, request %d: %d, want %d", path, n+1, got, status)
		}
	}
}

func ok(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }

// directive is headgate with a socket and options, each a line.
func directive(address string, options ...string) string {
	return "\theadgate " + address + " {\n\t\ttimeout " + patience + "\n\t\t" +
		strings.Join(options, "\n\t\t") + "\n\t}\n\torigin"
}

// TestPolicies: the policies of the daemon decide, over a unix socket and over UDP.
func TestPolicies(t *testing.T) {
	socket := "unix:" + filepath.Join(t.TempDir(), "udp.sock")
	for name, udp := range map[string]string{"unix": socket, "UDP": "127.0.0.1:0"} {
		node, _ := startNode(t, policies, udp)
		address := udp
		if name == "UDP" {
			address = node.Addresses().Datagram[0].String()
		}
		s := start(t, directive(address), ok)
		s.says("/.env", 404)
		s.says("/once/1", 200, 429)
		s.says("/", 200, 200)
		s.says("/silent", 200, 403)
		denied := s.get("/once/1")
		if denied.Header.Get("Retry-After") == "" ||
			!strings.HasPrefix(denied.Header.Get("RateLimit"), `"once";r=0;t=`) {
			t.Errorf("%s: %v", name, denied.Header)
		}
		if h := s.get("/silent").Header; h.Get("Retry-After") != "" || h.Get("RateLimit") != "" {
			t.Errorf("%s: a silent denial speaks: %v", name, h)
		}
	}
}

// TestLongHeaders: a policy by a cookie holds wherever in a long header that stands; where the
// daemon cannot be shown all, it denies.
func TestLongHeaders(t *testing.T) {
	socket := "unix:" + filepath.Join(t.TempDir(), "udp.sock")
	startNode(t, policies, socket)
	s := start(t, directive(socket), ok)
	for _, tt := range []struct {
		path, name, value string
		want              int
	}{
		{"/", "Cookie", "session=fine", 200},
		{"/", "Cookie", "a=" + strings.Repeat("b", 2000) + "; session=evil", 403},
		{
			"/", "Cookie", strings.Repeat("a="+strings.Repeat("b", 600)+"; ", 8) + "session=evil",
			403,
		},
		{"/", "Cookie", "a=" + strings.Repeat("b", 5000), 431},
		{"/", "Referer", strings.Repeat("r", 5000), 200},
		{"/?" + strings.Repeat("q", 5000), "A", "b", 414},
	} {
		if got := s.get(tt.path, tt.name, tt.value).StatusCode; got != tt.want {
			t.Errorf("%.20s, %d bytes of %s: %d, want %d", tt.path, len(tt.value),
				tt.name, got, tt.want)
		}
	}
}

// TestReports: what counts by the response counts when it has been sent.
func TestReports(t *testing.T) {
	socket := "unix:" + filepath.Join(t.TempDir(), "udp.sock")
	startNode(t, policies, socket)
	s := start(t, "\troute {\n\trewrite /other /login\n"+directive(socket)+"\n\t}",
		func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.RawQuery == "wrong":
				w.WriteHeader(http.StatusUnauthorized)
			case r.URL.Path == "/bytes":
				_, _ = w.Write(make([]byte, 400_000))
			}
		})
	s.says("/login", 200, 200, 200)
	s.says("/login?wrong", 401, 401)
	s.await("two failed logins", "/login", 429)
	s.says("/other", 200) // the visitor's path, before the rewrite
	s.says("/bytes", 200, 200, 200)
	s.await("1,200,000 of 900,000 bytes", "/bytes", 429)
}

// await asks until the answer has that status: reports are not answered, and may come after the
// response.
func (s *site) await(event, path string, status int) {
	s.Helper()
	for deadline := time.Now().Add(20 * time.Second); s.get(path).StatusCode != status; {
		if time.Now().After(deadline) {
			s.Fatalf("%s: never %d", event, status)
		}
	}
}

// TestHandlerErrors: an error of the site is its response.
func TestHandlerErrors(t *testing.T) {
	socket := "unix:" + filepath.Join(t.TempDir(), "udp.sock")
	startNode(t, strings.ReplaceAll(policies, "/login", "/fails"), socket)
	s := start(t, directive(socket), ok)
	s.says("/fails", 401, 401)
	s.await("two failures", "/fails", 429)
}

// TestPlaces: a place is held until the response has ended, a panic included.
func TestPlaces(t *testing.T) {
	socket := "unix:" + filepath.Join(t.TempDir(), "udp.sock")
	startNode(t, policies, socket)
	var s *site
	s = start(t, directive(socket), func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.RawQuery {
		case "outer":
			s.says("/slow?inner", 429)
		case "panic":
			panic(http.ErrAbortHandler)
		}
	})
	s.says("/slow?outer", 200)
	s.await("the place is free", "/slow?outer", 200)
	s.await("and again", "/slow", 200)
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://site.test/slow?panic", nil)
	for range 3 {
		if resp, err := s.client.Do(r); err == nil {
			_ = resp.Body.Close()
		}
	}
	s.await("after panics", "/slow", 200)
}

// TestVisitorsHeaders: the headers that only headgate sets do not come from visitors; those that
// policies look at do.
func TestVisitorsHeaders(t *testing.T) {
	socket := "unix:" + filepath.Join(t.TempDir(), "udp.sock")
	startNode(t, policies, socket)
	s := start(t, directive(socket, "tier {http.request.header.X-Tier}"),
		func(w http.ResponseWriter, r *http.Request) {
			for name := range r.Header {
				if strings.HasPrefix(name, "Headgate") {
					t.Errorf("the site sees %s", name)
				}
			}
		})
	for n, want := range []int{200, 200, 429} { // by the key, then by its own
		key := []string{"a", "b", "b"}[n]
		if got := s.get("/once/1", "X-Api-Key", key, "Headgate-Tier", "gold", "headgate-ticket",
			"1").StatusCode; got != want {
			t.Errorf("key %s: %d, want %d", key, got, want)
		}
	}
	for _, want := range []int{200, 429} {
		if got := s.get("/", "X-Tier", "gold").StatusCode; got != want {
			t.Errorf("tier gold: %d, want %d", got, want)
		}
	}
}

// TestRule: one rule by name, by the client or by a key of placeholders; handle_errors and
// placeholders see the denial.
func TestRule(t *testing.T) {
	socket := "unix:" + filepath.Join(t.TempDir(), "udp.sock")
	startNode(t, policies, socket)
	s := start(t, directive(socket, "rule login", "key {http.request.header.X-User}")+
		"\n\thandle_errors 429 {\n\t\trespond \"slow down: {http.headgate.rule} "+
		"{http.headgate.why} {http.headgate.verdict}\" 429\n\t}", ok)
	for n, want := range []int{200, 200, 429} {
		resp := s.get("/", "X-User", "ann")
		body, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != want || want == 429 && string(body) != "slow down: login limit deny" {
			t.Errorf("request %d: %d %s", n+1, resp.StatusCode, body)
		}
	}
	if got := s.get("/", "X-User", "bob").StatusCode; got != 200 {
		t.Errorf("somebody else: %d", got)
	}
	s = start(t, directive(socket, "rule login"), ok)
	s.says("/", 200, 200, 429)
}

// TestWithoutADaemon: requests pass, or are denied with 503, and the daemon is found when it comes.
func TestWithoutADaemon(t *testing.T) {
	socket := "unix:" + filepath.Join(t.TempDir(), "udp.sock")
	s := start(t, directive(socket), ok)
	s.says("/once/1", 200, 200)
	_, stop := startNode(t, policies, socket)
	s.says("/once/1", 200, 429)
	stop()
	s.says("/once/1", 200, 200)
	s = start(t, directive(socket, "fail closed"), ok)
	s.says("/once/1", 503)
	if s.get("/").Header.Get("Retry-After") != "1" {
		t.Error("no Retry-After")
	}
}

// TestSilentDaemon: a daemon that does not answer costs a request the timeout, and no more.
func TestSilentDaemon(t *testing.T) {
	silent, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	s := start(t, "\theadgate "+silent.LocalAddr().String()+"\n\torigin", ok) // 20 ms
	s.says("/once/1", 200, 200)
	s = start(t, "\theadgate "+silent.LocalAddr().String()+" {\n\t\tfail closed\n\t}\n\torigin", ok)
	s.says("/", 503)
}

// TestFaults: what cannot be meant is a fault with its line, and nothing else changes.
func TestFaults(t *testing.T) {
	for body, want := range map[string]string{
		"headgate a b":                           "wrong argument count",
		"headgate {\nlimit 5\n}":                 `there is no option "limit"`,
		"headgate {\nrule\n}":                    "wrong argument count",
		"headgate {\nrule a b\n}":                "wrong argument count",
		"headgate {\nrule a/b\n}":                `"a/b" cannot be the name of a rule`,
		"headgate {\nkey {http.request.host}\n}": "a key is for one rule",
		"headgate {\nfail ajar\n}":               `fail is open or closed, not "ajar"`,
		"headgate {\nwait long\n}":               `wait is on or off, not "long"`,
		"headgate {\ndeceive\n}":                 "wrong argument count",
		"headgate {\ndeceive \"Thank you.\"\n}":  "deceive is a status and a body",
		"headgate {\ndeceive 99\n}":              "deceive is a status and a body",
		"headgate {\ndeceive 200 a b\n}":         "deceive is a status and a body",
		"headgate {\nrule r\ndeceive 200\n}":     "only policies deceive",
		"headgate {\ntimeout soon\n}":            "the timeout is a time above 0",
		"headgate {\ntimeout 0s\n}":              "the timeout is a time above 0",
		"headgate {\ntimeout 1h\n}":              "at most 5s",
		"headgate {\ntimeout 1s\ntimeout 2s\n}":  "timeout is given twice",
		"headgate nowhere":                       "missing port",
		"headgate 127.0.0.1:99999":               "invalid port",
	} {
		configuration, err := adapt(body, filepath.Join(t.TempDir(), "s"))
		if err == nil {
			var c caddy.Config
			if err = json.Unmarshal(configuration, &c); err == nil {
				err = caddy.Validate(&c)
			}
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", body, err, want)
		}
	}
}

// FuzzCaddyfile: no text of the directive has it panic, and what it takes can be provisioned or is
// a fault.
func FuzzCaddyfile(f *testing.F) {
	f.Add("127.0.0.1:4290 {\n\ttimeout 20ms\n\tfail open\n\trule r\n\tkey {k}\n}")
	f.Add("{\n\theaders A B\n\tresponse_headers C\n\tcountry DE\n\ttier {t}\n}")
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = adapt("headgate "+text, "/nowhere")
	})
}
