//go:build soak

package oracle

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	service "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// said is the output of a process.
type said struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// run runs a process until the test ends.
func run(t *testing.T, cmd *exec.Cmd) *said {
	t.Helper()
	out := new(said)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return out
}

// build builds a program.
func build(t *testing.T, dir, program string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "program")
	cmd := exec.Command("go", "build", "-o", to, program)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return to
}

// until returns what find finds, within 20 s.
func until(t *testing.T, what string, find func() string) string {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); <-tick.C {
		if found := find(); found != "" {
			return found
		}
	}
	t.Fatal("in vain: " + what)
	return ""
}

// freePort returns a port of loopback that nobody listens at.
func freePort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	return port
}

// startTheirs runs envoyproxy/ratelimit with Redis over the files in dir, and connects.
func startTheirs(t *testing.T, files map[string]string) service.RateLimitServiceClient {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("redis-server is not installed")
	}
	root := t.TempDir()
	write(t, filepath.Join(root, "ratelimit", "config"), files)
	redis, port := freePort(t), freePort(t)
	run(t, exec.Command("redis-server", "--port", redis, "--bind", "127.0.0.1", "--save", "",
		"--appendonly", "no"))
	dials(t, "127.0.0.1:"+redis)
	cmd := exec.Command(build(t, ".", "github.com/envoyproxy/ratelimit/src/service_cmd"))
	cmd.Env = append(os.Environ(), "REDIS_SOCKET_TYPE=tcp", "REDIS_URL=127.0.0.1:"+redis,
		"RUNTIME_ROOT="+root, "RUNTIME_SUBDIRECTORY=ratelimit",
		"RUNTIME_WATCH_ROOT=false", "USE_STATSD=false", "LOG_LEVEL=error", "GRPC_HOST=127.0.0.1",
		"GRPC_PORT="+port, "HOST=127.0.0.1", "PORT="+freePort(t),
		"DEBUG_HOST=127.0.0.1", "DEBUG_PORT="+freePort(t), "BACKEND_TYPE=redis")
	run(t, cmd)
	return client(t, "127.0.0.1:"+port)
}

// startOurs runs headgate over the same files, and connects.
func startOurs(t *testing.T, files map[string]string) service.RateLimitServiceClient {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, files)
	conf := filepath.Join(dir, "headgate.conf")
	text := fmt.Sprintf("listen: {udp: [], http: [], admin: [], grpc: \"127.0.0.1:0\"}\nrules: "+
		"[]\nrls: {files: [%q]}\n", dir+"/*.yaml")
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out := run(t, exec.Command(build(t, "../../../..", "./cmd/headgate"), "serve", "-c", conf))
	at := until(t, "headgate listens", func() string {
		if found := regexp.MustCompile(`gRPC +(127\.0\.0\.1:\d+)\n`).FindStringSubmatch(
			out.String()); found != nil {
			return found[1]
		}
		return ""
	})
	return client(t, at)
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func dials(t *testing.T, at string) {
	t.Helper()
	until(t, at, func() string {
		c, err := net.Dial("tcp", at)
		if err != nil {
			return ""
		}
		_ = c.Close()
		return at
	})
}

func client(t *testing.T, at string) service.RateLimitServiceClient {
	t.Helper()
	dials(t, at)
	c, err := grpc.NewClient(at, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return service.NewRateLimitServiceClient(c)
}

// ask returns the code of a request, and those of its descriptors.
func ask(
	t *testing.T, c service.RateLimitServiceClient, domain string,
	all []*ratelimit.RateLimitDescriptor,
) string {
	t.Helper()
	ctx, done := context.WithTimeout(context.Background(), 20*time.Second)
	defer done()
	r, err := c.ShouldRateLimit(ctx, &service.RateLimitRequest{Domain: domain, Descriptors: all})
	if err != nil {
		return err.Error()
	}
	words := r.GetOverallCode().String() + ":"
	for _, s := range r.GetStatuses() {
		words += " " + s.GetCode().String()
		if l := s.GetCurrentLimit(); l != nil {
			words += fmt.Sprintf(" %d/%s %s left %d", l.GetRequestsPerUnit(), l.GetUnit(),
				l.GetName(), s.GetLimitRemaining())
		}
	}
	return words
}

// more is a file beside the examples: wildcards, shadow mode, values of a list of descriptors.
const more = `
domain: more
descriptors:
  - {key: path, value: "/api/*", rate_limit: {unit: hour, requests_per_unit: 3}}
  - {key: path, value: "/api/login", rate_limit: {unit: hour, requests_per_unit: 1}}
  - {key: path, rate_limit: {unit: hour, requests_per_unit: 5}}
  - {key: shy, rate_limit: {unit: hour, requests_per_unit: 2}, shadow_mode: true}
  - {key: free, rate_limit: {unlimited: true}}
  - {key: shut, value: x, rate_limit: {unit: hour, requests_per_unit: 0}}
  - key: tenant
    descriptors:
      - {key: plan, value: gold, rate_limit: {unit: day, requests_per_unit: 7}}
      - {key: plan, rate_limit: {unit: day, requests_per_unit: 2}}
`

// TestSameVerdicts: envoyproxy/ratelimit with Redis and headgate, in one run, over its own examples
// and one file more, give the same verdicts, limits and remainders to the same requests. A window
// of theirs begins at the full unit, one of headgate's at the request, so the run is within a
// minute of both; limits per second are left out. A request that is denied counts there under its
// other descriptors, here under none, so requests of several are compared by their overall code.
func TestSameVerdicts(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}",
		"github.com/envoyproxy/ratelimit").Output()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"more.yaml": more}
	for _, name := range []string{"config.yaml", "example.yaml"} {
		data, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)),
			"examples/ratelimit/config", name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(data)
	}
	they, we := startTheirs(t, files), startOurs(t, files)
	if into := time.Now().Second(); into > 20 { // both must end in this minute
		<-time.NewTimer(time.Duration(61-into) * time.Second).C
	}
	began := time.Now()
	from := rand.New(rand.NewPCG(7, 22))
	singles := [][]string{
		{"rl", "category", "account"},
		{"rl", "source_cluster", "proxy", "destination_cluster", "bkthomps"},
		{"rl", "source_cluster", "proxy", "destination_cluster", "mock"},
		{"rl", "source_cluster", "proxy", "destination_cluster", "override"},
		{"rl", "source_cluster", "proxy", "destination_cluster", "fake"},
		{"rl", "source_cluster", "proxy", "destination_cluster", "none"},
		{"rl", "source_cluster", "proxy"},
		{"rl", "foo", "a"},
		{"rl", "foo", "b"},
		{"rl", "foo", "a", "bar", "x"},
		{"rl", "foo", "a", "bar", "bkthomps"},
		{"rl", "foo", "a", "bar", "banned"},
		{"rl", "foo", "a", "baz", "not-so-shady"},
		{"rl", "foo", "a", "baz", "shady"},
		{"rl", "foo", "a", "bay", "x"},
		{"rl", "unspec", "x"},
		{"rl", "qux", "x"},
		{"rl", "nothing", "x"},
		{"nowhere-else", "a", "b"},
		{"more", "path", "/api/login"},
		{"more", "path", "/api/a"},
		{"more", "path", "/api/b"},
		{"more", "path", "/other"},
		{"more", "shy", "x"},
		{"more", "free", "x"},
		{"more", "shut", "x"},
		{"more", "shut", "y"},
		{"more", "tenant", "a", "plan", "gold"},
		{"more", "tenant", "b", "plan", "gold"},
		{"more", "tenant", "a", "plan", "tin"},
		{"more", "tenant", "a"},
	}
	pairs := [][2][]string{ // of keys that no single has
		{{"rl", "foo", "p1", "bar", "bkthomps"}, {"rl", "foo", "p1", "bay", "x"}},
		{{"rl", "foo", "p2", "bar", "y"}, {"rl", "foo", "p2"}},
		{{"rl", "foo", "p3", "bar", "banned"}, {"rl", "qux", "p3"}},
		{{"more", "path", "/p4"}, {"more", "shy", "p4"}},
		{{"more", "tenant", "p5", "plan", "gold"}, {"more", "tenant", "p5", "plan", "tin"}},
	}
	// A value of one letter is one of 30, so that there are keys far below their limit, at it and
	// beyond it.
	describe := func(words []string) *ratelimit.RateLimitDescriptor {
		d := new(ratelimit.RateLimitDescriptor)
		for i := 1; i+1 < len(words); i += 2 {
			d.Entries = append(d.Entries,
				&ratelimit.RateLimitDescriptor_Entry{Key: words[i], Value: words[i+1]})
			if e := d.Entries[len(d.Entries)-1]; len(e.Value) == 1 &&
				words[0] != "nowhere-else" && e.Key != "shut" {
				e.Value += fmt.Sprint(from.IntN(30))
			}
		}
		return d
	}
	asked, denied := 0, 0
	for range 6000 {
		if i := from.IntN(len(singles) + len(pairs)); i < len(singles) {
			all := []*ratelimit.RateLimitDescriptor{describe(singles[i])}
			theirs, ours := ask(t, they, singles[i][0], all), ask(t, we, singles[i][0], all)
			if asked++; strings.HasPrefix(ours, "OVER") {
				denied++
			}
			if theirs != ours {
				t.Errorf("%v: they say %s, we say %s", singles[i], theirs, ours)
			}
		} else {
			p := pairs[i-len(singles)]
			all := []*ratelimit.RateLimitDescriptor{describe(p[0]), describe(p[1])}
			theirs, _, _ := strings.Cut(ask(t, they, p[0][0], all), ":")
			ours, _, _ := strings.Cut(ask(t, we, p[0][0], all), ":")
			if asked++; theirs != ours {
				t.Errorf("%v: they say %s, we say %s", p, theirs, ours)
			}
		}
	}
	t.Logf("%d requests, %d denied, in %v", asked, denied,
		time.Since(began).Round(time.Millisecond))
	if began.Minute() != time.Now().Minute() {
		t.Skip("the run went over the end of a minute")
	}
}
