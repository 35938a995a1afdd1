package setup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
)

// TestServes: what the files of a proxy do not do for a policy is said by init and by config check
// --for alike, once, with the policy, the line and the proxies that do. The means themselves are
// shown by the tests that run each proxy.
func TestServes(t *testing.T) {
	t.Parallel()
	const able = "; nginx, openresty, haproxy and haproxy-lua do"
	unreported := []string{
		"login (needs.yaml:4): %s reports no response: nothing is counted" + able,
		"exports (needs.yaml:11): %s gives no place back: each is held for its lease, in effect " +
			"3 requests in 2m" + able,
		"tokens (needs.yaml:12): %s reports no response: nothing is counted" + able,
		"tokens (needs.yaml:12): %s reports no response header x-tokens: it counts as absent" +
			able,
		"odd (needs.yaml:13): %s reports no response: nothing is counted" + able,
		"odd (needs.yaml:13): %s reports no response header x-cost: it counts as absent" + able,
		"odd (needs.yaml:13): %s reports no response header x_a: it counts as absent" + able,
	}
	const (
		slow = "slow (needs.yaml:18): %s does not wait: what delay lets in later is denied; " +
			"openresty does"
		trap = "trap (needs.yaml:19): %s cannot answer 418: it sends another status; " +
			"openresty, caddy, traefik, envoy-authz-grpc and envoy-authz do"
		fake = "fake (needs.yaml:20): %s cannot pretend: the answer is a plain denial; " +
			"openresty does"
		texts = "texts (needs.yaml:21): %s sends no body of a policy; openresty, traefik, " +
			"envoy-authz-grpc and envoy-authz do"
	)
	var unasked []string
	for i, name := range []string{
		"login", "exports", "tokens", "odd", "slow", "trap", "fake", "texts",
	} {
		unasked = append(unasked, fmt.Sprintf("%s (needs.yaml:%d): %%s asks no policy: its own "+
			"limits decide", name, []int{4, 11, 12, 13, 18, 19, 20, 21}[i]))
	}
	for name, want := range map[string][]string{
		"envoy-gateway":    unasked,
		"istio":            append(slices.Clone(unreported), slow, trap, fake, texts),
		"kgateway":         append(slices.Clone(unreported), slow, trap, fake, texts),
		"nginx":            {slow, trap, fake, texts},
		"haproxy":          {slow, trap, fake, texts},
		"haproxy-lua":      {slow, trap, fake, texts},
		"openresty":        {},
		"caddy":            append(slices.Clone(unreported), slow, fake, texts),
		"traefik":          append(slices.Clone(unreported), slow, fake),
		"envoy":            append(slices.Clone(unreported), slow, trap, fake, texts),
		"envoy-authz":      append(slices.Clone(unreported), slow, fake),
		"envoy-authz-grpc": append(slices.Clone(unreported), slow, fake),
		"ingress-nginx":    append(slices.Clone(unreported), slow, trap, fake, texts),
	} {
		code, _, stderr := runInit(t, t.TempDir(), "init", name, "-c", "testdata/needs.yaml")
		asks := map[string]string{
			"openresty": "UDP", "envoy": "gRPC", "envoy-authz-grpc": "gRPC",
			"envoy-gateway": "gRPC", "istio": "gRPC", "kgateway": "gRPC",
		}[name]
		if strings.Contains(stderr, "note: headers: both is of listen.http and listen.spop; "+name+
			" asks over "+asks) != (asks != "") {
			t.Errorf("init %s: %s", name, stderr)
		}
		var got []string
		for _, line := range strings.Split(stderr, "\n") {
			if note, ok := strings.CutPrefix(line, "note: policy "); ok &&
				!strings.Contains(note, "is left out") {
				got = append(got, note)
			}
		}
		if said := strings.Join(got, "\n"); code != cli.ExitOK || said != saidOf(name, want) {
			t.Errorf("init %s: %d\n%s\nwant\n%s", name, code, said, saidOf(name, want))
		}
		code, printed, stderr := runInit(t, t.TempDir(), "config", "check", "--for", name,
			"testdata/needs.yaml")
		if n := strings.Count(stderr, "[unserved]"); code != cli.ExitOK || n != len(want) ||
			!strings.Contains(printed, "testdata/needs.yaml: ok, 8 policies, ") {
			t.Errorf("config check --for %s: %d, %d warnings, want %d\n%s%s", name, code, n,
				len(want), printed, stderr)
		}
	}
	_, _, stderr := runInit(t, t.TempDir(), "init", "nginx-lua", "-c", "testdata/needs.yaml")
	if !strings.Contains(stderr, "; nginx-lua asks over UDP") {
		t.Error(stderr)
	}
	code, _, stderr := runInit(t, t.TempDir(), "config", "check", "--for", "ngnix",
		"testdata/needs.yaml")
	if code != cli.ExitFailed || !strings.Contains(stderr, "--for is nginx, openresty, haproxy") {
		t.Errorf("--for ngnix: %d, %s", code, stderr)
	}
}

// saidOf returns the notes about the files called name.
func saidOf(name string, notes []string) string {
	var all []string
	for _, note := range notes {
		all = append(all, fmt.Sprintf(note, name))
	}
	return strings.Join(all, "\n")
}

// TestHAProxyReports: by messages where no policy gives places back, else by the log, and as the
// options say.
func TestHAProxyReports(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, policy string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("policies: ["+policy+"]\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const counts = "{name: signin, match: {path: /in}, count_when: {path: /in, status: 401}, " +
		"limit: 5, window: 1m}"
	tokens, places, plain := file("tokens", counts), file("places", counts+
		", {name: exports, match: {path: /e}, kind: concurrency, limit: 2, lease: 1m}"),
		file("plain", "{name: all, match: {}, limit: 5, window: 1m}")
	for _, tt := range []struct {
		args         []string
		message, log bool
	}{
		{[]string{"-c", tokens}, true, false},
		{[]string{"-c", places}, false, true},
		{[]string{"-c", plain}, false, false},
		{[]string{"-c", tokens, "--udp", "127.0.0.1:4290"}, false, true},
		{[]string{"-c", tokens, "--udp", "none"}, false, false},
	} {
		args := append([]string{"init", "haproxy"}, tt.args...)
		_, printed, stderr := runInit(t, t.TempDir(), args...)
		message := strings.Contains(printed, "\nspoe-message report\n") &&
			strings.Contains(printed, "\n    messages report\n")
		log := strings.Contains(printed, "\n    log-format ")
		noted := strings.Contains(stderr, "reports no response: nothing is counted")
		if none := tt.args[1] == tokens && !tt.message && !tt.log; message != tt.message ||
			log != tt.log || noted != none ||
			strings.Contains(stderr, "the log-format of that frontend") != tt.log {
			t.Error(tt.args, message, log, stderr)
		}
	}
}

// TestUntilIsOver: config check warns of a policy whose time is over.
func TestUntilIsOver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "headgate.yaml")
	if err := os.WriteFile(file, []byte(`rules: []
policies:
  - {name: past, match: {path: /a}, deny: 403, until: "2020-01-01T00:00:00Z"}
  - {name: later, match: {path: /b}, deny: 403, until: "2999-01-01T00:00:00+02:00"}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := runInit(t, dir, "config", "check", "--strict", file)
	if code != 1 || strings.Count(stderr, "warning") != 1 ||
		!strings.Contains(stderr, "headgate.yaml:3:5: [until-over] policy past: its time is over") {
		t.Errorf("%d %s", code, stderr)
	}
}
