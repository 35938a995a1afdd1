//go:build !race

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/cmd/headgate/clitest"
)

// writtenManual is the manual, with the date of a known second.
func writtenManual(t *testing.T) (dir string) {
	t.Helper()
	b := newBench(t)
	b.env["SOURCE_DATE_EPOCH"] = "1772323200"
	dir = t.TempDir()
	if code, stdout, stderr := b.run(t.Context(), "man", "--example", "../../deploy/headgate.yaml",
		dir); code != cli.ExitOK || stdout+stderr != "" {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	return dir
}

func manualPages(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		pages[e.Name()] = string(text)
	}
	return pages
}

// There is a page for every command that help shows, with its flags, and the same source makes the
// same pages.
func TestManualIsWhole(t *testing.T) {
	pages := manualPages(t, writtenManual(t))
	for _, cmd := range documented(cli.NewRoot(cli.NewApp(t.Output(), t.Output()), commands)) {
		page := pages[pageName(cmd)+".1"]
		for _, want := range []string{
			`.TH HEADGATE`, `"2026-03-01"`, ".SH NAME\n",
			".SH SYNOPSIS\n.B headgate", `\-\-help`, ".BR headgate.yaml (5)\n",
		} {
			if !strings.Contains(page, want) {
				t.Errorf("%s: no %q in\n%s", pageName(cmd), want, page)
			}
		}
	}
	for name, wants := range map[string][]string{
		"headgate.1": {
			"\n.B check\n", "HEADGATE_ADMIN",
			".BR headgate\\-config\\-check (1),",
		},
		"headgate-check.1": {
			"\n.B \\-\\-cost N\n",
			"headgate check \\-\\-peek \\-\\-json login 203.0.113.7",
		},
		"headgate-config-check.1": {".BR headgate\\-config (1),"},
		"headgate.yaml.5":         {".TH HEADGATE.YAML 5", "memory: 64MiB"},
	} {
		for _, want := range wants {
			if !strings.Contains(pages[name], want) {
				t.Errorf("%s: no %q in\n%s", name, want, pages[name])
			}
		}
	}
	for name := range pages {
		if strings.HasPrefix(name, "headgate-man.") ||
			strings.HasPrefix(name, "headgate-completion.") {
			t.Errorf("%s is nobody's to read", name)
		}
	}
	again := manualPages(t, writtenManual(t))
	for name := range pages {
		if pages[name] != again[name] {
			t.Errorf("%s is another one the second time", name)
		}
	}
}

// headgate(1) lists the commands by the groups of the help, and shows the daily path by commands
// that exist.
func TestManualShowsTheDailyPath(t *testing.T) {
	pages := manualPages(t, writtenManual(t))
	page := pages["headgate.1"]
	at := 0
	for _, group := range []string{toRun, toAsk, toChange, toKnow} {
		next := strings.Index(page, "\n.SS "+strings.TrimSuffix(group, ":")+"\n.TP\n.B ")
		if next < at || next < 0 {
			t.Errorf("no group %q after byte %d", group, at)
		}
		at = next
	}
	_, examples, _ := strings.Cut(page, ".SH EXAMPLES\n")
	examples, _, _ = strings.Cut(examples, ".SH ")
	root := cli.NewRoot(cli.NewApp(t.Output(), t.Output()), commands)
	for _, name := range []string{"serve", "check", "explain", "block", "mode", "replay"} {
		if !strings.Contains(examples, "\n  headgate "+name+" ") {
			t.Errorf("no example of %s", name)
		}
		if !strings.Contains(pages["headgate-"+name+".1"], ".SH EXAMPLES\n") {
			t.Errorf("headgate-%s.1 has no examples", name)
		}
	}
	for line := range strings.Lines(examples) {
		words := strings.Fields(strings.ReplaceAll(line, `\-`, "-"))
		if len(words) == 0 || !strings.HasPrefix(line, "  headgate ") {
			continue
		}
		cmd, rest, err := root.Find(words[1:])
		if err != nil || cmd == root || cmd.ParseFlags(rest) != nil {
			t.Errorf("no command: %s", line)
		}
	}
}

// mandoc finds no fault in a page, but for matters of style.
func TestManualIsRoff(t *testing.T) {
	mandoc := clitest.ProgramPath(t, "mandoc")
	dir := writtenManual(t)
	files, err := filepath.Glob(filepath.Join(dir, "*.[15]"))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), mandoc,
		append([]string{"-T", "lint", "-W", "warning"}, files...)...).CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
	text, err := exec.CommandContext(t.Context(), mandoc, "-T", "utf8",
		filepath.Join(dir, "headgate-mode.1")).Output()
	if err != nil {
		t.Fatal(err)
	}
	plain := strings.NewReplacer("\b", "").Replace(string(text))
	if !strings.Contains(plain, "shadow   count and report as in enforce, but allow everything") {
		t.Errorf("a table is not shown as it is:\n%s", text)
	}
}

func TestManualRefusesWhatItCannotDo(t *testing.T) {
	b := newBench(t)
	dir := t.TempDir()
	for _, args := range [][]string{
		{"man"},
		{"man", filepath.Join(dir, "none")},
		{"man", "--example", filepath.Join(dir, "none"), dir},
	} {
		if code, _, stderr := b.run(t.Context(), args...); code != cli.ExitFailed || stderr == "" {
			t.Errorf("%q: exit %d, %q", args, code, stderr)
		}
	}
	b.env["SOURCE_DATE_EPOCH"] = "yesterday"
	if code, _, stderr := b.run(t.Context(), "man", dir); code != cli.ExitFailed ||
		!strings.Contains(stderr, `"yesterday"`) {
		t.Errorf("exit %d, %q", code, stderr)
	}
	if names := slices.Collect(func(yield func(string) bool) {
		for _, c := range cli.NewRoot(cli.NewApp(t.Output(), t.Output()), commands).Commands() {
			if c.IsAvailableCommand() && !yield(c.Name()) {
				return
			}
		}
	}); slices.Contains(names, "man") {
		t.Errorf("help shows it: %q", names)
	}
}
