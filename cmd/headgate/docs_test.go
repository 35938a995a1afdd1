package main

import (
	"bytes"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// The bounds of the pages, so that the front page stays one and each other page can be read at a
// sitting.
const (
	readmeLines = 150
	readmeChars = 9000
	pageLines   = 200
	cellChars   = 120 // of a table's cell in README
)

// docPages are the pages for readers, by their paths in the repository.
func docPages(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	for _, pattern := range []string{
		"README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md",
		"docs/*.md", "docs/*/*.md", "bench/README.md", "deploy/README.md",
	} {
		found, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pattern)))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v, %v", pattern, found, err)
		}
		for _, file := range found {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			pages[filepath.ToSlash(strings.TrimPrefix(file,
				filepath.Join("..", "..")+string(filepath.Separator)))] = string(text)
		}
	}
	return pages
}

// fence is a block of code: the line that opens it without its marks, and its text.
type fence struct{ info, text string }

// splitFences parts a page into its prose and its blocks of code.
func splitFences(page string) (prose string, fences []fence) {
	for i, part := range strings.Split("\n"+page, "\n```") {
		info, text, _ := strings.Cut(part, "\n")
		if i%2 == 1 {
			fences = append(fences, fence{info, text + "\n"})
			continue
		}
		prose += part + "\n"
	}
	return prose, fences
}

var (
	codeSpan = regexp.MustCompile("`[^`\n]*`")
	docLink  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)
	linkText = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// anchors returns the anchors of a page's headings, as GitHub makes them.
func anchors(page string) map[string]bool {
	prose, _ := splitFences(page)
	all := map[string]bool{}
	for _, found := range heading.FindAllStringSubmatch(prose, -1) {
		var b strings.Builder
		for _, r := range strings.ToLower(linkText.ReplaceAllString(found[1], "$1")) {
			switch {
			case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
				b.WriteRune(r)
			case r == ' ':
				b.WriteByte('-')
			}
		}
		all[b.String()] = true
	}
	return all
}

// brokenLinks returns the relative links of the page called name that lead to no file or no
// heading. pages are the texts that anchors are looked up in; exists says of any other path whether
// it is there.
func brokenLinks(name string, pages map[string]string, exists func(string) bool) (broken []string) {
	prose, _ := splitFences(pages[name])
	for _, found := range docLink.FindAllStringSubmatch(codeSpan.ReplaceAllString(prose, ""), -1) {
		if strings.Contains(found[1], "://") || strings.HasPrefix(found[1], "mailto:") {
			continue
		}
		file, anchor, _ := strings.Cut(found[1], "#")
		target := name
		if file != "" {
			target = path.Join(path.Dir(name), file)
		}
		text, isPage := pages[target]
		switch {
		case !isPage && !exists(target):
			broken = append(broken, found[1])
		case anchor != "" && (!isPage || !anchors(text)[anchor]):
			broken = append(broken, found[1])
		}
	}
	return broken
}

// TestDocLinks: every relative link of the pages leads to a file, and every anchor to a heading.
func TestDocLinks(t *testing.T) {
	edgetest.Alone(t)
	pages := docPages(t)
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		for _, link := range brokenLinks(name, pages, func(target string) bool {
			_, err := os.Stat(filepath.Join("..", "..", filepath.FromSlash(target)))
			return err == nil
		}) {
			t.Errorf("%s: %s leads nowhere", name, link)
		}
	}
}

// TestAlertsNamePages: every alert has a runbook_url, which leads to a heading of a page.
func TestAlertsNamePages(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "prometheus", "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	pages := docPages(t)
	runbooks := regexp.MustCompile(`(?m)runbook_url: https://github\.com/headgate-dev/headgate/blob/main/([^#\s]+)#(\S+)$`).FindAllSubmatch(text, -1)
	if alerts := bytes.Count(text, []byte("- alert:")); len(runbooks) != alerts || alerts == 0 {
		t.Errorf("%d runbooks of %d alerts", len(runbooks), alerts)
	}
	for _, found := range runbooks {
		if page, anchor := string(found[1]), string(found[2]); !anchors(pages[page])[anchor] {
			t.Errorf("%s#%s leads nowhere", page, anchor)
		}
	}
}

// The rule itself sees a link to no file and to no heading.
func TestBrokenLinks(t *testing.T) {
	pages := map[string]string{
		"a/README.md": "# One `code`, two\n[y](SECURITY.md#there) [z](../z.txt) " +
			"[here](#one-code-two) [far](https://example.net/#x) " +
			"`[no](none.txt)`\n```\n[no](none.txt)\n```\n",
		"a/SECURITY.md": "## There\n",
	}
	only := func(target string) bool { return target == "z.txt" }
	if got := brokenLinks("a/README.md", pages, only); len(got) != 0 {
		t.Errorf("%q", got)
	}
	pages["a/README.md"] = "[y](SECURITY.md#elsewhere) [z](z.txt) [here](#one) [y](SECURITY.md)"
	if got := strings.Join(brokenLinks("a/README.md", pages, only),
		" "); got != "SECURITY.md#elsewhere z.txt #one" {
		t.Errorf("%q", got)
	}
}

// TestDocBounds: no page is longer than it may be.
func TestDocBounds(t *testing.T) {
	for name, text := range docPages(t) {
		lines := strings.Count(text, "\n")
		switch {
		case name == "README.md" && (lines > readmeLines ||
			utf8.RuneCountInString(text) > readmeChars):
			t.Errorf("%s: %d lines, %d characters, want %d and %d at most", name, lines,
				utf8.RuneCountInString(text), readmeLines, readmeChars)
		case strings.HasPrefix(name, "docs/") && lines > pageLines:
			t.Errorf("%s: %d lines, want %d at most", name, lines, pageLines)
		}
	}
	prose, _ := splitFences(docPages(t)["README.md"])
	for line := range strings.Lines(prose) {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		for cell := range strings.SplitSeq(line, "|") {
			if n := utf8.RuneCountInString(strings.TrimSpace(cell)); n > cellChars {
				t.Errorf("README.md: a table's cell has %d characters: %.40s…", n, cell)
			}
		}
	}
}

// homeMade are words that a reader must puzzle over: an operator would write deny, send, receive,
// source.
var homeMade = regexp.MustCompile(
	`(?i)\b(un)?(told|tells?|telling|hears?|heard|words?|whose|whom|owed?|owes|believed?|believes|refus(es?|ed|als?)|flags?|flagged|nobody|anew|for ever)\b`)

// searched are lines with words that people type to find a page.
var searched = regexp.MustCompile(`(?m)^<!-- search: .*|^## Nobody is limited$`)

// TestDocWords: the pages for users have none of them, but for names in code.
func TestDocWords(t *testing.T) {
	edgetest.Alone(t)
	for name, text := range docPages(t) {
		if name == "CONTRIBUTING.md" || name == "CHANGELOG.md" ||
			strings.HasPrefix(name, "docs/decisions/") { // for those who build
			continue
		}
		text, _ := splitFences(searched.ReplaceAllString(text, ""))
		for _, found := range homeMade.FindAllString(codeSpan.ReplaceAllString(text, ""), -1) {
			t.Errorf("%s: %q", name, found)
		}
	}
}

// TestDocConfigurations: what the pages show as YAML is a configuration, or a manifest of
// Kubernetes.
func TestDocConfigurations(t *testing.T) {
	checked := 0
	for name, text := range docPages(t) {
		_, fences := splitFences(text)
		for _, f := range fences {
			if f.info != "yaml" || strings.Contains(f.text, "apiVersion:") {
				continue
			}
			checked++
			if _, err := config.Parse(name, []byte(f.text)); err != nil {
				t.Errorf("%v in\n%s", err, f.text)
			}
		}
	}
	if checked < 4 {
		t.Errorf("only %d were checked", checked)
	}
}

// TestDocCommands: the pages name commands and flags that there are.
func TestDocCommands(t *testing.T) {
	checked := 0
	for name, text := range docPages(t) {
		_, fences := splitFences(text)
		for _, f := range fences {
			for line := range strings.Lines(f.text) {
				if args := docCommand(line); args != nil {
					checked++
					checkCommand(t, name, line, args)
				}
			}
		}
	}
	if checked < 15 {
		t.Errorf("only %d were checked", checked)
	}
}

// docCommand returns the arguments of a line of code that calls headgate, up to a comment, a pipe,
// or two spaces and what they do; nil where it calls something else.
func docCommand(line string) []string {
	line = strings.TrimPrefix(strings.TrimSpace(line), "$ ")
	line = strings.TrimPrefix(line, "bin/")
	rest, found := strings.CutPrefix(line, "headgate ")
	if !found {
		return nil
	}
	for _, end := range []string{" #", " |", "  ", " 2>", " >", " && "} {
		rest, _, _ = strings.Cut(rest, end)
	}
	return strings.Fields(rest)
}

func checkCommand(t *testing.T, name, line string, args []string) {
	t.Helper()
	cmd, rest, err := cli.NewRoot(cli.NewApp(t.Output(), t.Output()), commands).Find(args)
	if err != nil || !cmd.HasParent() && !strings.HasPrefix(args[0], "-") {
		t.Errorf("%s: %s is no command: %v", name, strings.TrimSpace(line), err)
		return
	}
	for _, arg := range rest {
		flag, _, _ := strings.Cut(arg, "=")
		known := false
		switch {
		case strings.HasPrefix(flag, "--"):
			known = cmd.Flags().Lookup(flag[2:]) != nil
		case strings.HasPrefix(flag, "-") && len(flag) == 2:
			known = cmd.Flags().ShorthandLookup(flag[1:]) != nil
		default:
			continue
		}
		if !known {
			t.Errorf("%s: %s has no %s", name, cmd.CommandPath(), flag)
		}
	}
}
