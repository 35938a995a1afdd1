package main

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
)

func (b *bench) file(name, content string) string {
	b.t.Helper()
	path := filepath.Join(b.env["DIR"], name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return path
}

func TestConfigCheck(t *testing.T) {
	b := newBench(t)
	good := b.file("good.yaml", "pop: lhr\nrules:\n  - {name: a, limit: 7, window: 1m, scope: "+
		"pop}\n")
	bad := b.file("bad.yaml", "popp: lhr\nrules:\n  - {name: a, limit: 010, window: 1m}\n")
	tor := b.file("tor.txt", "192.0.2.0/24\neverybody\n")
	sets := b.file("sets.yaml",
		"sets: {tor: {cidr_file: "+tor+"}, none: {table_file: "+tor+".csv}}\n")
	cases := []struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		{[]string{sets}, 1, "", "DIR/tor.txt:2:1: must be an address"},
		{[]string{sets}, 1, "", "sets.none: read DIR/tor.txt.csv: no such file or " +
			"directory\nDIR/sets.yaml: 2 faults\n"},
		{
			[]string{good},
			0, "DIR/good.yaml: ok, 0 policies, 1 rule, 0 sets; 1 warning\n",
			"warning: DIR/good.yaml:1:1: [scope-alone] rules: scope pop",
		},
		{[]string{"--print", good}, 0, "pop: lhr\n", "warning"},
		{[]string{bad}, 1, "", "DIR/bad.yaml:1:1: "},
		{[]string{bad}, 1, "", "\nDIR/bad.yaml:3:22: rules[0].limit: "},
		{[]string{bad}, 1, "", "\nDIR/bad.yaml: 2 faults\n"},
		{[]string{"$DIR/none.yaml"}, 2, "", "headgate: config: read DIR/none.yaml: no such file"},
		{[]string{""}, 2, "", "empty"},
		{nil, 2, "", "check wants FILE, got 0 arguments"},
	}
	for _, c := range cases {
		code, stdout, stderr := b.run(t.Context(),
			append([]string{"config", "check"}, c.args...)...)
		if code != c.code || !strings.Contains(stdout, c.stdout) ||
			!strings.Contains(stderr, c.stderr) {
			t.Errorf("config check %v: %d\n%s%s\nwant %d with %q and %q", c.args, code, stdout,
				stderr, c.code, c.stdout, c.stderr)
		}
	}
}

// The output of config check --print is a configuration with the same meaning.
func TestConfigPrintIsAConfiguration(t *testing.T) {
	b := newBench(t)
	_, first, _ := b.run(t.Context(), "config", "check", "--print", b.file("a.yaml", "pop: lhr\n"))
	code, second, stderr := b.run(t.Context(), "config", "check", "--print",
		b.file("b.yaml", first))
	if code != 0 || first != second || !strings.Contains(first, "per-ip") {
		t.Errorf("exit %d, printed\n%s%s\nthen\n%s", code, first, stderr, second)
	}
}

func TestUnixSockets(t *testing.T) {
	b := newBench(t)
	socket := filepath.Join(t.TempDir(), "a.sock")
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	//nolint:gosec // a test's
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: b.admin}}
	server.Start()
	defer server.Close()
	if code, stdout, stderr := b.run(t.Context(), "top", "--admin", "unix:"+socket); code != 0 ||
		!strings.Contains(stdout, "203.0.113.7") {
		t.Errorf("top over a unix socket: %d\n%s%s", code, stdout, stderr)
	}
	datagrams := fakeDaemon(t, "unixgram", filepath.Join(t.TempDir(), "d.sock"))
	if code, stdout, stderr := b.run(t.Context(), "check", "--addr", "unix:"+datagrams, "login",
		"blocked"); code != cli.ExitNo {
		t.Errorf("check over a unix socket: %d\n%s%s", code, stdout, stderr)
	}
}

func TestToken(t *testing.T) {
	b := newBench(t)
	b.admin.token = "s3cret"
	good, bad := b.file("token", "s3cret\n"), b.file("two", "two words\n")

	_, _, stderr := b.run(t.Context(), "block", "login", "x")
	if !strings.Contains(stderr, "missing or wrong (changes need the admin token: --token-file "+
		"or HEADGATE_TOKEN_FILE)") {
		t.Errorf("without a token: %s", stderr)
	}
	if code, _, stderr := b.run(t.Context(), "block", "login", "x", "--token-file",
		good); code != 0 {
		t.Errorf("with the flag: %d %s", code, stderr)
	}
	b.env["HEADGATE_TOKEN_FILE"] = good
	if code, _, stderr := b.run(t.Context(), "unblock", "login", "x"); code != 0 {
		t.Errorf("with the environment: %d %s", code, stderr)
	}
	if code, _, stderr := b.run(t.Context(), "block", "login", "x", "--token-file",
		bad); code != cli.ExitFailed || strings.Contains(stderr, "two words") {
		t.Errorf("a file that holds no token: %d %s", code, stderr)
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	b := newBench(t)
	cases := map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"another server": {func(w http.ResponseWriter, _ *http.Request) {
			_,
				_ = w.Write([]byte("<html>"))
		}, "the answer is not headgate's"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		}, "answered 302 Found"},
		"a bare error": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
		}, "answered 502 Bad Gateway"},
		"hung up": {
			func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			"ask ADMIN: ",
		},
		"hostile words": {
			func(w http.ResponseWriter, _ *http.Request) {
				refuse(w, http.StatusBadRequest,
					"no\x1b[2J\nnext")
			},
			`no\x1b[2J` + "\nnext",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c.handler)
			defer server.Close()
			b.hide = strings.NewReplacer(server.Listener.Addr().String(), "ADMIN")
			code, _, stderr := b.run(t.Context(), "top", "--admin", server.Listener.Addr().String())
			if code != cli.ExitFailed || !strings.Contains(stderr, c.want) {
				t.Errorf("exit %d, %q; want %q", code, stderr, c.want)
			}
		})
	}
}

func TestInterrupt(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{{"top"}, {"check", "--addr", "$UDP", "login", "good"}} {
		if code, _, stderr := b.run(ctx, args...); code != cli.ExitFailed ||
			stderr != "headgate: interrupted\n" {
			t.Errorf("%v: %d %q", args, code, stderr)
		}
	}
}

func TestCompletion(t *testing.T) {
	b := newBench(t)
	for _, args := range [][]string{
		{"check", ""},
		{"explain", ""},
		{"block", ""},
		{"top", "--rule", ""},
	} {
		if _, stdout, _ := b.run(t.Context(), append([]string{"__complete"},
			args...)...); !strings.HasPrefix(stdout,
			"per-ip\ntenant\nfleet\nsignin/24,56\njobs\n:4\n") {
			t.Errorf("%v completes to %q", args, stdout)
		}
	}
	if _, stdout, _ := b.run(t.Context(), "__complete", "check", "login", ""); stdout != ":4\n" {
		t.Errorf("a key completes to %q", stdout)
	}
	b.env["HEADGATE_ADMIN"] = "127.0.0.1:1"
	if _, stdout, _ := b.run(t.Context(), "__complete", "check", ""); stdout != ":4\n" {
		t.Errorf("without a daemon a rule completes to %q", stdout)
	}
	if code, stdout, _ := b.run(t.Context(), "completion", "bash"); code != 0 ||
		!strings.Contains(stdout, "__start_headgate") {
		t.Errorf("completion bash: %d, %d bytes", code, len(stdout))
	}
}

func TestVersion(t *testing.T) {
	b := newBench(t)
	if _, stdout, _ := b.run(t.Context(),
		"version"); !strings.HasPrefix(stdout, "headgate "+cli.BuildVersion()+" (go1.") {
		t.Errorf("version: %q", stdout)
	}
	if _, stdout, _ := b.run(t.Context(), "version",
		"--json"); !strings.HasPrefix(stdout, "{\n  \"version\": \""+cli.BuildVersion()+`",`) {
		t.Errorf("version --json: %q", stdout)
	}
}
