package setup

import (
	"cmp"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/cmd/headgate/clitest"
	"github.com/headgate-dev/headgate/edge/door/doortest"
)

// snippetPaths returns the texts that are embedded, as deploy/ names them.
func snippetPaths(t *testing.T) (paths []string) {
	t.Helper()
	err := fs.WalkDir(snippetFiles, "snippets", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			paths = append(paths, strings.TrimPrefix(path, "snippets/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// TestDeployedSnippets: deploy/ holds the output of init, and each text belongs to a snippet.
func TestDeployedSnippets(t *testing.T) {
	used := map[string]bool{}
	for i := range snippets {
		s := &snippets[i]
		for _, rule := range []string{"", snippetRule} {
			f := s.form(rule)
			if len(f.files) == 0 {
				continue
			}
			texts := renderDefaults(t, s, rule)
			for i, name := range f.files {
				clitest.CompareGolden(t, filepath.Join("..", "..", "..", "deploy",
					filepath.FromSlash(name)), texts[i])
				used[name] = true
			}
			args := []string{"init", s.name}
			if rule != "" {
				args = append(args, "--rule", rule)
			}
			code, printed, stderr := runInit(t, t.TempDir(), args...)
			if code != 0 || printed != strings.Join(texts, "\n") ||
				!strings.HasPrefix(stderr, "next: "+f.next+"\n") ||
				strings.Contains(stderr, "port 4299 is for one Caddy") != (s.name == "caddy") {
				t.Errorf("init %s: %d %s\n%s", s.name, code, stderr, printed)
			}
		}
	}
	if paths, names := slices.Sorted(slices.Values(snippetPaths(t))),
		slices.Sorted(maps.Keys(used)); !slices.Equal(names, paths) {
		t.Errorf("the texts are %q, the snippets use %q", paths, names)
	}
}

func renderDefaults(t *testing.T, s *snippet, rule string) []string {
	t.Helper()
	f := snippetFlags{
		rule: rule, address: cmp.Or(s.form(rule).address, s.address),
		timeout: DefaultTimeout, log: noLog, spare: 4299,
	}
	if s.name == "nginx" && rule == "" {
		f.udp, f.log = atUDP, "/var/log/nginx/access.log"
	}
	b, err := s.fill(f)
	if err != nil {
		t.Fatal(err)
	}
	texts, err := s.form(rule).render(b)
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// The addresses that each proxy is tried with, and what they are in its own spelling.
var spellings = map[string]map[string][]string{
	"nginx": {
		"192.0.2.1:80": {"server 192.0.2.1:80;"}, "[2001:db8::1]:80": {"server [2001:db8::1]:80;"},
		"unix:/run/h.sock": {
			"server unix:/run/h.sock;",
			"set $headgate_upstream unix:/run/h.sock:;",
		},
	},
	"nginx --rule a.B_9": {
		"192.0.2.1:80": {"server 192.0.2.1:80;"}, "[2001:db8::1]:80": {"server [2001:db8::1]:80;"},
		"unix:/run/h.sock": {"server unix:/run/h.sock;"},
	},
	"nginx-lua --rule a.B_9": {
		"192.0.2.1:80": {
			`setpeername("192.0.2.1", 80)`,
		},
		"[2001:db8::1]:80": {`setpeername("[2001:db8::1]", 80)`},
		"unix:/run/h.sock": {`setpeername("unix:/run/h.sock")`},
	},
	"openresty": {
		"192.0.2.1:80": {`access({
        address = {"192.0.2.1", 80},`, `log({address = {"192.0.2.1", 80}})`},
		"[2001:db8::1]:80": {
			`log({address = {"[2001:db8::1]", 80}})`,
		},
		"unix:/run/h.sock": {`log({address = {"unix:/run/h.sock"}})`},
	},
	"haproxy": {
		"192.0.2.1:80": {
			"server headgate 192.0.2.1:80\n",
			`spop: "192.0.2.1:80"`,
		},
		"[2001:db8::1]:80": {"server headgate [2001:db8::1]:80\n"},
		"unix:/run/h.sock": {"server headgate unix@/run/h.sock\n", `spop: "unix:/run/h.sock"`},
	},
	"haproxy-lua": {
		"192.0.2.1:80": {
			`connect("192.0.2.1", 80)`,
		},
		"[2001:db8::1]:80": {`connect("[2001:db8::1]", 80)`},
		"unix:/run/h.sock": {`connect("unix@/run/h.sock")`},
	},
	"haproxy-lua --rule a.B_9": {"192.0.2.1:80": {`connect("192.0.2.1", 80)`}},
	"haproxy --rule a.B_9":     {"192.0.2.1:80": {`connect("192.0.2.1", 80)`}},
	"caddy": {
		"192.0.2.1:80":     {"forward_auth 192.0.2.1:80 "},
		"[2001:db8::1]:80": {"forward_auth [2001:db8::1]:80 "},
	},
	"caddy --rule a.B_9": {
		"192.0.2.1:80":     {"forward_auth 192.0.2.1:80 "},
		"[2001:db8::1]:80": {"forward_auth [2001:db8::1]:80 "},
	},
	"caddy --spare-port 5001": {"192.0.2.1:80": {" 127.0.0.1:5001 {", "\nhttp://127.0.0.1:5001 {"}},
	"traefik":                 {"192.0.2.1:80": {`"http://192.0.2.1:80/v1/auth/forward"`}},
	"traefik-crd":             {"192.0.2.1:80": {`"http://192.0.2.1:80/v1/auth/forward"`}},
	"traefik --crd": {"h.edge:80": {
		`"http://h.edge:80/v1/auth/forward"`, "kind: IngressRoute", "kind: Middleware",
	}},
	"envoy-authz": {
		"192.0.2.1:80":     {`{address: "192.0.2.1", port_value: 80}`},
		"[2001:db8::1]:80": {`"2001:db8::1"`, `"http://[2001:db8::1]:80"`},
	},
	"envoy": {
		"192.0.2.1:80": {
			`{address: "192.0.2.1", port_value: 80}`,
			`grpc: "192.0.2.1:80"`,
		},
		"unix:/run/h.sock": {`{pipe: {path: "/run/h.sock"}}`, `grpc: "unix:/run/h.sock"`},
	},
	"envoy-authz-grpc": {
		"[2001:db8::1]:80": {`{address: "2001:db8::1", port_value: 80}`},
		"unix:/run/h.sock": {`{pipe: {path: "/run/h.sock"}}`},
	},
	"envoy-gateway": {"gw.edge:80": {"server: gw.edge:80\n"}},
	"istio":         {"h.edge:80": {`{address: "h.edge", port_value: 80}`}},
	"kgateway": {"hg.edge.svc:80": {
		"backendRef: {name: hg, port: 80}", "namespace: edge\n", "name: headgate, namespace: edge}",
	}},
	"ingress-nginx": {"headgate.edge:80": {`"http://headgate.edge:80/v1/auth/nginx"`}},
}

// TestInitFillsIn: an option stands wherever its default stood, in the proxy's own spelling.
func TestInitFillsIn(t *testing.T) {
	defaults := regexp.MustCompile(
		`per-ip|:4291|"127\.0\.0\.1", 429[01]|\b20ms|settimeout\(20\)|\b20 / 1000`)
	for i := range snippets {
		s := &snippets[i]
		if len(s.whole.files) > 0 && spellings[s.name] == nil ||
			len(s.rule.files) > 0 && spellings[s.name+" --rule a.B_9"] == nil {
			t.Errorf("%s: no address is tried", s.name)
		}
	}
	for line, addresses := range spellings {
		args := append([]string{"init"}, strings.Fields(line)...)
		for at, wants := range addresses {
			tried := append(args, "--address", at)
			if !strings.HasPrefix(line, "traefik") {
				tried, wants = append(tried, "--timeout", "1234ms"),
					append(wants, map[bool]string{
						false: "1234",
						true:  "1.234s",
					}[strings.HasPrefix(line, "envoy") && line != envoyGateway || line == "istio"])
			}
			_, printed, stderr := runInit(t, t.TempDir(), tried...)
			for _, want := range wants {
				if !strings.Contains(printed, want) {
					t.Errorf("%s at %s: no %q in\n%s%s", line, at, want, printed, stderr)
				}
			}
			if left := defaults.FindString(printed); left != "" {
				t.Errorf("%s at %s: %s is left in\n%s", line, at, left, printed)
			}
		}
	}
}

// TestInitReports: with --udp the proxy's log reports responses, and without it the lines are
// comments.
func TestInitReports(t *testing.T) {
	for line, want := range map[string]string{
		"nginx": "\naccess_log syslog:server=127.0.0.1:4290,nohostname headgate " +
			"if=$headgate_ticket;\naccess_log /var/log/nginx/access.log;\n",
		"nginx --udp none": "\n# access_log " +
			"syslog:server=127.0.0.1:4290,nohostname headgate if=$headgate_ticket;\n\n",
		"nginx --access-log none": "headgate if=$headgate_ticket;\n\n",
		"nginx --udp 192.0.2.1:80 --access-log /var/log/a.log": "\naccess_log syslog:server=" +
			"192.0.2.1:80,nohostname headgate if=$headgate_ticket;\naccess_log /var/log/a.log;\n",
		"nginx --udp unix:/run/u.sock": "\naccess_log " +
			"syslog:server=unix:/run/u.sock,nohostname headgate",
		"haproxy": "\n    #log 127.0.0.1:4290 format raw local0\n    " +
			"#log-format \"report ticket=",
		"haproxy --udp 192.0.2.1:80": "\n    log 192.0.2.1:80 format raw local0\n    " +
			"log-format \"report ticket=",
		"haproxy --udp unix:/run/u.sock": "\n    log /run/u.sock format raw local0\n",
		"nginx -c testdata/none.yaml":    "\n# access_log syslog:",
		"nginx -c testdata/needs.yaml": "s=$request_time response.header.x-cost=\"" +
			"$upstream_http_x_cost\" response.header.x-tokens=\"$upstream_http_x_tokens\"';",
		"nginx -c testdata/needs.yaml --udp none": "\n# access_log syslog:",
		"haproxy -c testdata/needs.yaml": "\n    http-response set-var(txn.hg_0) " +
			"res.fhdr(x-cost)\n    http-response set-var(txn.hg_1) res.fhdr(x-tokens)\n    " +
			`log-format "report ticket=%[var(txn.hg.ticket)] status=%ST ms=%Tt response.header.` +
			`x-cost=\"%[var(txn.hg_0),json(utf8s)]\" response.header.x-tokens=\"`,
		"openresty -c testdata/needs.yaml": `response_headers = {"x-cost", "x-tokens"}})`,
		"nginx --access-log /a;b":          "",
		"nginx --udp nowhere":              "",
		"nginx --udp :80":                  "",
		"nginx --udp 127.0.0.1:1 --rule a": "",
	} {
		code, printed, stderr := runInit(t, t.TempDir(),
			append([]string{"init"}, strings.Fields(line)...)...)
		if want == "" && (code != cli.ExitFailed || !strings.Contains(stderr, "--udp") &&
			!strings.Contains(stderr, "--access-log")) ||
			!strings.Contains(printed, want) {
			t.Errorf("%s: %d, no %q in\n%s%s", line, code, want, printed, stderr)
		}
	}
}

func TestInitRefuses(t *testing.T) {
	const script = `
		init ngnix → unknown command "ngnix", did you mean nginx?
		init nginx caddy → nginx takes no argument, got "caddy"
		init nginx --rule a;b → init nginx: --rule "a;b" is not a valid rule name
		init nginx --rule $LONG → is not a valid rule name
		init nginx --rule= → is not a valid rule name
		init caddy --timeout 0s → init caddy: --timeout 0s is not 1ms to 10s in whole milliseconds
		init caddy --timeout 11s → --timeout 11s is not
		init caddy --timeout 1500us → --timeout 1.5ms is not
		init haproxy --address nowhere → init haproxy: --address
		init haproxy --address :4291 → --address :4291: a proxy needs a host and a port
		init haproxy --address 127.0.0.1:0 → a proxy needs a host and a port
		init nginx --address unix:/run/a;b → --address unix:/run/a;b: paths may hold only letters
		init caddy --address unix:/run/h → this proxy cannot use a unix socket here
		init nginx-lua --address localhost:4290 → give an IP address
		init envoy-authz --address localhost:4290 → give an IP address
		init traefik --rule login → unknown flag: --rule
		init nginx --write $DIR/a{b → may hold only letters, digits and _ . - /
		init nginx --write $DIR/none/none → no such file or directory
	`
	long := strings.NewReplacer("$LONG", strings.Repeat("a", 65))
	for line, want := range doortest.Script(long.Replace(script)) {
		code, stdout, stderr := runInit(t, t.TempDir(), strings.Fields(line)...)
		if code != cli.ExitFailed || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%s: %d\n%s%s\nwant %q", line, code, stdout, stderr, want)
		}
	}
}

// TestInitWrites: all files or none, and never over another.
func TestInitWrites(t *testing.T) {
	dir := t.TempDir()
	code, stdout, stderr := runInit(t, dir, "init", "haproxy", "--write", "$DIR")
	if code != 0 || stdout != "wrote DIR/headgate-spoe.cfg\nwrote DIR/headgate.cfg\n" {
		t.Fatalf("%d\n%s%s", code, stdout, stderr)
	}
	conf := filepath.Join(dir, "headgate.cfg")
	text, err := os.ReadFile(conf)
	if err != nil || !strings.Contains(string(text), "config "+dir+"/headgate-spoe.cfg\n") {
		t.Errorf("%v\n%s", err, text)
	}

	other := filepath.Join(dir, "headgate-spoe.cfg")
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr = runInit(t, dir, "init", "haproxy", "--write", "$DIR")
	if code != cli.ExitFailed || stdout != "" ||
		!strings.Contains(stderr, "DIR/headgate.cfg already exists; nothing was written") {
		t.Errorf("%d\n%s%s", code, stdout, stderr)
	}
	if _, err := os.Lstat(other); err == nil {
		t.Error("it was written nevertheless")
	}

	// in which there can be no file
	code, stdout, stderr = runInit(t, dir, "init", "haproxy", "--write", "$DIR/headgate.cfg")
	if code != cli.ExitFailed || stdout != "" ||
		!strings.Contains(stderr, "DIR/headgate.cfg/headgate-spoe.cfg: not a directory") {
		t.Errorf("%d\n%s%s", code, stdout, stderr)
	}
}

// runInit runs headgate with args, in which $DIR stands for dir, and returns its exit code and
// output, with DIR for dir.
func runInit(t *testing.T, dir string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	filled := make([]string, len(args))
	for i, arg := range args {
		filled[i] = strings.ReplaceAll(arg, "$DIR", filepath.ToSlash(dir))
	}
	a := cli.NewApp(&out, &errs)
	// no daemon
	a.Getenv = func(name string) string {
		return map[string]string{"HEADGATE_ADMIN": "127.0.0.1:1"}[name]
	}
	code = a.Run(t.Context(), []cli.Entry{{Build: Init}, {Build: Config}}, filled)
	return code, strings.ReplaceAll(out.String(), dir, "DIR"),
		strings.ReplaceAll(errs.String(), dir, "DIR")
}
