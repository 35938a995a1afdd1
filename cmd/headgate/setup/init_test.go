package setup

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/cmd/headgate/clitest"
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

// TestDeployedSnippets: deploy/ holds the output of init, and each text belongs to one snippet.
func TestDeployedSnippets(t *testing.T) {
	var used []string
	for _, s := range snippets {
		texts := renderDefaults(t, &s)
		for i, name := range s.files {
			clitest.CompareGolden(t, filepath.Join("..", "..", "..", "deploy", filepath.FromSlash(name)), texts[i])
		}
		code, printed, stderr := runInit(t, t.TempDir(), "init", s.name)
		if code != 0 || printed != strings.Join(texts, "\n") || stderr != "next: "+s.next+"\n" {
			t.Errorf("init %s: %d %s\n%s", s.name, code, stderr, printed)
		}
		used = append(used, s.files...)
	}
	slices.Sort(used)
	if paths := snippetPaths(t); !slices.Equal(used, paths) {
		t.Errorf("the texts are %q, the snippets use %q", paths, used)
	}
}

func renderDefaults(t *testing.T, s *snippet) []string {
	t.Helper()
	b, err := s.fill(snippetFlags{rule: snippetRule, address: s.address, timeout: DefaultTimeout})
	if err != nil {
		t.Fatal(err)
	}
	texts, err := s.render(b)
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// TestInitFillsIn: an option stands wherever its default stood, in the proxy's own spelling.
func TestInitFillsIn(t *testing.T) {
	defaults := regexp.MustCompile(`per-ip|:4291|"127\.0\.0\.1", 429[01]|\b20ms|settimeout\(20\)|\b20 / 1000`)
	addresses := map[string]map[string]string{
		"nginx": {
			"192.0.2.1:80": "server 192.0.2.1:80;", "[2001:db8::1]:80": "server [2001:db8::1]:80;", "unix:/run/h.sock": "server unix:/run/h.sock;",
		},
		"nginx-policies": {
			"192.0.2.1:80": "server 192.0.2.1:80;", "[2001:db8::1]:80": "server [2001:db8::1]:80;", "unix:/run/h.sock": "server unix:/run/h.sock;",
		},
		"nginx-lua": {
			"192.0.2.1:80": `setpeername("192.0.2.1", 80)`, "[2001:db8::1]:80": `setpeername("[2001:db8::1]", 80)`, "unix:/run/h.sock": `setpeername("unix:/run/h.sock")`,
		},
		"haproxy": {
			"192.0.2.1:80": `connect("192.0.2.1", 80)`, "[2001:db8::1]:80": `connect("[2001:db8::1]", 80)`, "unix:/run/h.sock": `connect("unix@/run/h.sock")`,
		},
		"caddy": {
			"192.0.2.1:80": "forward_auth 192.0.2.1:80 ", "[2001:db8::1]:80": "forward_auth [2001:db8::1]:80 ",
		},
	}
	for _, s := range snippets {
		if len(addresses[s.name]) == 0 {
			t.Errorf("%s: no address is tried", s.name)
		}
		for at, want := range addresses[s.name] {
			line, wants := []string{"init", s.name, "--timeout", "1234ms", "--address", at}, []string{want, "1234"}
			if !s.whole {
				line, wants = append(line, "--rule", "a.B_9"), append(wants, "a.B_9")
			}
			_, printed, stderr := runInit(t, t.TempDir(), line...)
			for _, want := range wants {
				if !strings.Contains(printed, want) {
					t.Errorf("%s at %s: no %q in\n%s%s", s.name, at, want, printed, stderr)
				}
			}
			if left := defaults.FindString(printed); left != "" {
				t.Errorf("%s at %s: %s is left in\n%s", s.name, at, left, printed)
			}
		}
	}
}

func TestInitRefuses(t *testing.T) {
	cases := []struct{ line, want string }{
		{"init ngnix", `unknown command "ngnix", did you mean nginx?`},
		{"init nginx caddy", `nginx takes no argument, got "caddy"`},
		{"init nginx --rule a;b", `init nginx: --rule "a;b" is not a valid rule name`},
		{"init nginx --rule " + strings.Repeat("a", 65), "is not a valid rule name"},
		{"init nginx --rule=", "is not a valid rule name"},
		{"init caddy --timeout 0s", "init caddy: --timeout 0s is not 1ms to 10s in whole milliseconds"},
		{"init caddy --timeout 11s", "--timeout 11s is not"},
		{"init caddy --timeout 1500us", "--timeout 1.5ms is not"},
		{"init haproxy --address nowhere", "init haproxy: --address"},
		{"init haproxy --address :4291", "--address :4291: a proxy needs a host and a port"},
		{"init haproxy --address 127.0.0.1:0", "a proxy needs a host and a port"},
		{"init nginx --address unix:/run/a;b", "--address unix:/run/a;b: paths may hold only letters, digits and _ . - /"},
		{"init caddy --address unix:/run/h", "Caddy cannot use a unix socket here"},
		{"init nginx-lua --address localhost:4290", "give an IP address"},
		{"init nginx --write $DIR/a{b", "may hold only letters, digits and _ . - /"},
		{"init nginx --write $DIR/none/none", "no such file or directory"},
	}
	for _, c := range cases {
		code, stdout, stderr := runInit(t, t.TempDir(), strings.Fields(c.line)...)
		if code != cli.ExitFailed || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: %d\n%s%s\nwant %q", c.line, code, stdout, stderr, c.want)
		}
	}
}

// TestInitWrites: all files or none, and never over another.
func TestInitWrites(t *testing.T) {
	dir := t.TempDir()
	code, stdout, stderr := runInit(t, dir, "init", "haproxy", "--write", "$DIR")
	if code != 0 || stdout != "wrote DIR/headgate.lua\nwrote DIR/headgate.cfg\n" {
		t.Fatalf("%d\n%s%s", code, stdout, stderr)
	}
	conf := filepath.Join(dir, "headgate.cfg")
	text, err := os.ReadFile(conf)
	if err != nil || !strings.Contains(string(text), "lua-load-per-thread "+dir+"/headgate.lua\n") {
		t.Errorf("%v\n%s", err, text)
	}

	lua := filepath.Join(dir, "headgate.lua")
	if err := os.Remove(lua); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr = runInit(t, dir, "init", "haproxy", "--write", "$DIR")
	if code != cli.ExitFailed || stdout != "" || !strings.Contains(stderr, "DIR/headgate.cfg already exists; nothing was written") {
		t.Errorf("%d\n%s%s", code, stdout, stderr)
	}
	if _, err := os.Lstat(lua); err == nil {
		t.Error("it was written nevertheless")
	}

	code, stdout, stderr = runInit(t, dir, "init", "haproxy", "--write", "$DIR/headgate.cfg") // in which there can be no file
	if code != cli.ExitFailed || stdout != "" || !strings.Contains(stderr, "DIR/headgate.cfg/headgate.lua: not a directory") {
		t.Errorf("%d\n%s%s", code, stdout, stderr)
	}
}

// runInit runs headgate with args, in which $DIR stands for dir, and returns its exit code and output, with DIR for dir.
func runInit(t *testing.T, dir string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	filled := make([]string, len(args))
	for i, arg := range args {
		filled[i] = strings.ReplaceAll(arg, "$DIR", filepath.ToSlash(dir))
	}
	a := cli.NewApp(&out, &errs)
	a.Getenv = func(name string) string { return map[string]string{"HEADGATE_ADMIN": "127.0.0.1:1"}[name] } // no daemon
	code = a.Run(t.Context(), []cli.Entry{{Build: Init}}, filled)
	return code, strings.ReplaceAll(out.String(), dir, "DIR"), strings.ReplaceAll(errs.String(), dir, "DIR")
}
