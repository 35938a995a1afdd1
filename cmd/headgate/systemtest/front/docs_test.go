//go:build !race

package front

import (
	"context"
	"fmt"
	"net"
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

// session is a command of a page and the output that the page shows.
type session struct{ command, want string }

// readSessions returns what the console blocks of a page run, in order. A YAML block before them is
// the file headgate.yaml, and comes as a session that writes it.
func readSessions(page string) (all []session) {
	for i, part := range strings.Split("\n"+page, "\n```") {
		info, text, _ := strings.Cut(part, "\n")
		switch {
		case i%2 == 1 && info == "yaml":
			all = append(all, session{command: "cat >headgate.yaml <<'EOF'\n" + text + "\nEOF"})
		case i%2 == 1 && info == "console":
			for line := range strings.Lines(text + "\n") {
				if command, found := strings.CutPrefix(line, "$ "); found {
					all = append(all, session{command: command})
					continue
				}
				all[len(all)-1].want += line
			}
		}
	}
	return all
}

// outputPattern matches an output as a page shows it: "..." stands for any lines where it has its own, and elsewhere for
// any part of a line.
func outputPattern(want string) *regexp.Regexp {
	var b strings.Builder
	for line := range strings.Lines(want) {
		if line == "...\n" {
			b.WriteString(`(?:.*\n)*?`)
			continue
		}
		b.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), `\.\.\.`, ".*"))
	}
	return regexp.MustCompile(`\A` + b.String() + `\z`)
}

// TestOutputPattern: dots match what they stand for, and nothing else does.
func TestOutputPattern(t *testing.T) {
	t.Parallel()
	const want = "one\n...\nat ..., deny\n"
	for got, match := range map[string]bool{
		"one\nat 5, deny\n":           true,
		"one\n2\n3\nat 5, deny\n":     true,
		"one\n2\n3\nat 5, allow\n":    false,
		"one\nat 5, deny\nand more\n": false,
		"none\nat 5, deny\n":          false,
	} {
		if outputPattern(want).MatchString(got) != match {
			t.Errorf("%q: want %v", got, match)
		}
	}
}

// TestDocSessions runs the console blocks of README and docs/, each page beside a daemon of its own.
func TestDocSessions(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"bash", "nc", "curl"} {
		clitest.ProgramPath(t, program)
	}
	pages, err := filepath.Glob("../../../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, name := range append(pages, "../../../../README.md") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "\n```console\n") {
			continue
		}
		ran++
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			runSessions(t, readSessions(string(text)))
		})
	}
	if ran < 4 {
		t.Errorf("only %d pages have a session", ran)
	}
}

// runSessions runs the sessions of a page in a shell, where headgate and bin/headgate are the
// daemon's program.
func runSessions(t *testing.T, sessions []session) {
	n := startFrontNode(t, "")
	dir := t.TempDir()
	if err := os.Symlink(filepath.Dir(systemtest.Binary(t)),
		filepath.Join(dir, "bin")); err != nil {
		t.Fatal(err)
	}
	edgetest.Await(t, "the daemon listens", edgetest.Patience,
		func() bool { return n.Listens("decisions, HTTP") != "" })
	addresses := []string{}
	for port, at := range map[int]string{
		4290: n.UDP, 4291: n.Listens("decisions, HTTP"),
		4292: n.Admin,
	} {
		host, number, err := net.SplitHostPort(at)
		if err != nil {
			t.Fatal(err)
		}
		addresses = append(addresses, fmt.Sprintf("127.0.0.1:%d", port), at,
			fmt.Sprintf("127.0.0.1 %d", port), host+" "+number)
	}
	_, port, _ := net.SplitHostPort(n.Listens("decisions, RESP"))
	fill := strings.NewReplacer(append(addresses, "-p 4296", "-p "+port)...)
	ctx, cancel := context.WithTimeout(t.Context(), edgetest.Patience)
	defer cancel()
	for _, s := range sessions {
		cmd := exec.CommandContext(ctx, "bash", "-c", fill.Replace(s.command))
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"),
			"HEADGATE_ADMIN="+n.Admin, "HEADGATE_ADDR="+n.UDP)
		said, _ := cmd.CombinedOutput() // some exit with what they answer: the output says it
		if got := strings.ReplaceAll(string(said), "\r",
			""); !outputPattern(s.want).MatchString(withNewline(got)) {
			t.Errorf("$ %s\nthe page says:\n%s\nit printed:\n%s", s.command, s.want, got)
		}
	}
}

// withNewline ends a text that is not empty with one newline at least, as a page shows it.
func withNewline(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}
