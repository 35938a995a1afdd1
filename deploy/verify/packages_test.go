package verify

import (
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// packages are the .deb and the .rpm that make package makes, but of the daemon that the tests have
// built.
var packages struct {
	once     sync.Once
	deb, rpm string
	err      error
}

// packed returns the paths of the packages.
func packed(t *testing.T) (deb, rpm string) {
	t.Helper()
	daemon(t)
	packages.once.Do(func() {
		dir := filepath.Join(built.dir, "packages")
		if _, packages.err = pack(t, dir, "1.2.3", daemon(t)); packages.err == nil {
			packages.deb, packages.rpm = filepath.Join(dir, "headgate_1.2.3-1_amd64.deb"),
				filepath.Join(dir, "headgate-1.2.3-1.x86_64.rpm")
		}
	})
	if packages.err != nil {
		t.Fatal(packages.err)
	}
	return packages.deb, packages.rpm
}

// pack makes packages of a program.
func pack(t testing.TB, dir, version, program string) (string, error) {
	t.Helper()
	return command(t, "env", "VERSION="+version, "SOURCE_DATE_EPOCH=1772323200", "ARCH=amd64",
		"FORMATS=deb rpm", "BINARY="+program, top+"/deploy/package/build", dir)
}

// The .deb holds its files where users look for them, and marks the configuration as theirs.
func TestDeb(t *testing.T) {
	dpkg := program(t, "dpkg-deb")
	deb, _ := packed(t)
	root := t.TempDir()
	run(t, dpkg, "-R", deb, root)
	if got := read(t, filepath.Join(root,
		"DEBIAN/conffiles")); got != "/etc/headgate/headgate.yaml\n" {
		t.Errorf("conffiles: %q", got)
	}
	for path, source := range map[string]string{
		"lib/systemd/system/headgate.service":                  "deploy/headgate.service",
		"lib/systemd/system/headgate-nftables.service":         "deploy/headgate-nftables.service",
		"etc/headgate/headgate.yaml":                           "deploy/package/headgate.yaml",
		"usr/share/doc/headgate/examples/headgate.yaml":        "deploy/headgate.yaml",
		"usr/share/doc/headgate/examples/headgate-pop.yaml":    "deploy/headgate-pop.yaml",
		"usr/share/doc/headgate/examples/fail2ban.conf":        "deploy/fail2ban/headgate.conf",
		"usr/share/doc/headgate/examples/headgate-global.yaml": "deploy/headgate-global.yaml",
	} {
		if read(t, filepath.Join(root, path)) != read(t, filepath.Join(top, source)) {
			t.Errorf("%s is not %s", path, source)
		}
	}
	for path, want := range map[string]string{
		"usr/share/man/man1/headgate.1.gz":              ".SH NAME",
		"usr/share/man/man1/headgate-config-check.1.gz": ".SH OPTIONS",
		"usr/share/man/man5/headgate.yaml.5.gz":         "failure_mode",
		"usr/share/doc/headgate/changelog.gz":           "Unreleased",
		"usr/share/doc/headgate/changelog.Debian.gz":    "headgate (1.2.3-1)",
		"usr/share/doc/headgate/NOTICE.gz":              "Mozilla Public License",
	} {
		if text := unzipped(t, filepath.Join(root, path)); !strings.Contains(text, want) {
			t.Errorf("%s: no %q in %.200q", path, want, text)
		}
	}
	for _, path := range []string{
		"usr/share/bash-completion/completions/headgate",
		"usr/share/fish/vendor_completions.d/headgate.fish",
		"usr/share/zsh/vendor-completions/_headgate", "usr/share/doc/headgate/copyright",
	} {
		if !strings.Contains(read(t, filepath.Join(root, path)), "headgate") {
			t.Errorf("%s is another's", path)
		}
	}
	run(t, filepath.Join(root, "usr/bin/headgate"), "config", "check",
		filepath.Join(root, "etc/headgate/headgate.yaml"))
	for _, script := range []string{"postinst", "prerm", "postrm"} {
		run(t, "sh", "-n", filepath.Join(root, "DEBIAN", script))
	}
}

var link = regexp.MustCompile(`\]\(([^)#]+)`)

// The .deb has the documentation, and no link in it leads to a file that is not installed.
func TestDebHasTheDocumentation(t *testing.T) {
	dpkg := program(t, "dpkg-deb")
	deb, _ := packed(t)
	root := t.TempDir()
	run(t, dpkg, "-R", deb, root)
	doc := filepath.Join(root, "usr/share/doc/headgate")
	sources, err := filepath.Glob(top + "/docs/*.md")
	if err != nil || len(sources) == 0 {
		t.Fatalf("no sources: %v", err)
	}
	pages := []string{filepath.Join(doc, "README.md")}
	for _, source := range sources {
		pages = append(pages, filepath.Join(doc, "docs", filepath.Base(source)))
	}
	for _, page := range pages {
		text := read(t, page)
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			if target := found[1]; !strings.Contains(target, "://") && !exists(filepath.Join(filepath.Dir(page), target)) {
				t.Errorf("%s: %s is not installed", filepath.Base(page), target)
			}
		}
		if info, err := os.Stat(page); err != nil || info.Mode().Perm() != 0o644 {
			t.Errorf("%s: %v, %v", page, info.Mode(), err)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func unzipped(t *testing.T, path string) string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer file.Close() //nolint:errcheck // only read from
	zip, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(zip)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Everything that is linked into the daemon is named, with its licence.
func TestNotice(t *testing.T) {
	notice := run(t, top+"/deploy/package/notice")
	linked := run(t, "go", "version", "-m", daemon(t))
	seen := 0
	for line := range strings.Lines(linked) {
		fields := strings.Fields(line)
		if len(fields) > 2 && fields[0] == "dep" {
			seen++
			if !strings.Contains(notice, "\n==== "+fields[1]+" "+fields[2]+"\n") {
				t.Errorf("%s is not named", fields[1])
			}
		}
	}
	if seen < 10 {
		t.Errorf("%d modules in %s", seen, linked)
	}
	embedded, err := filepath.Glob(top + "/edge/web/assets/third_party/*")
	if err != nil || len(embedded) == 0 {
		t.Errorf("nothing is embedded: %v", err)
	}
	for _, dir := range embedded {
		if !strings.Contains(notice, "/"+filepath.Base(dir)+"\n") {
			t.Errorf("%s is not named", dir)
		}
	}
}

// rpm reads the .rpm: its files, that the configuration stays an operator's, and its scripts.
func TestRPM(t *testing.T) {
	rpm := program(t, "rpm")
	_, file := packed(t)
	files := strings.Split(run(t, rpm, "-qpl", file), "\n")
	for _, want := range []string{
		"/usr/bin/headgate", "/usr/lib/systemd/system/headgate.service",
		"/etc/headgate/headgate.yaml",
		"/usr/share/man/man1/headgate.1.gz", "/usr/share/zsh/site-functions/_headgate",
	} {
		if !slices.Contains(files, want) {
			t.Errorf("no %s in %q", want, files)
		}
	}
	if got := run(t, rpm, "-qpc", file); got != "/etc/headgate/headgate.yaml\n" {
		t.Errorf("configuration: %q", got)
	}
	flags := run(t, rpm, "-qp", "--queryformat", "[%{FILENAMES} %{FILEFLAGS:fflags}\n]", file)
	// c: configuration, n: not to be replaced
	if !strings.Contains(flags, "/etc/headgate/headgate.yaml cn\n") {
		t.Errorf("flags: %s", flags)
	}
	for _, tag := range []string{"PREIN", "POSTIN", "PREUN", "POSTUN"} {
		script := filepath.Join(t.TempDir(), tag)
		write(t, script, run(t, rpm, "-qp", "--queryformat", "%{"+tag+"}", file))
		run(t, "sh", "-n", script)
		if !strings.Contains(read(t, script), "\n") {
			t.Errorf("no %s", tag)
		}
	}
}

// The same source makes the same bytes.
func TestPackagesAreReproducible(t *testing.T) {
	once, again, program := t.TempDir(), t.TempDir(), short(t)
	for _, dir := range []string{once, again} {
		if said, err := pack(t, dir, "1.2.3", program); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
	}
	for _, name := range []string{"headgate_1.2.3-1_amd64.deb", "headgate-1.2.3-1.x86_64.rpm"} {
		if sum(t, filepath.Join(once, name)) != sum(t, filepath.Join(again, name)) {
			t.Errorf("%s is another one the second time", name)
		}
	}
}

func sum(t *testing.T, path string) string {
	t.Helper()
	return fmt.Sprintf("%x", sha256.Sum256([]byte(read(t, path))))
}

// A shell takes the completions, which offer every command.
func TestCompletions(t *testing.T) {
	script := filepath.Join(t.TempDir(), "headgate")
	write(t, script, run(t, daemon(t), "completion", "bash"))
	run(t, "bash", "-n", script)
	if offered := run(t, daemon(t), "__complete", "heal"); !strings.HasPrefix(offered, "health\t") {
		t.Errorf("offered: %s", offered)
	}
}
