package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/spf13/cobra"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

// avoided are words that a reader of a help text, an error, a log line or a HELP line need not
// puzzle over, each with the word to write instead.
var avoided = map[string]string{
	"told": "sent, reported", "untold": "unsent", "tell": "report, show", "tells": "reports, shows",
	"telling": "reporting",
	"hear":    "receive", "hears": "receives", "heard": "received",
	"word": "a noun: source, value", "whose": "of which, or a second sentence", "whom": "a noun",
	"owed": "unsent", "owe": "is to be repaid", "owes": "is to be repaid",
	"believe": "trust", "believes": "trusts", "believed": "trusted",
	"refuse": "deny, reject", "refuses": "denies, rejects", "refused": "denied, rejected",
	"refusal": "denial", "refusals": "denials",
	"flags": "mitigations", "flagged": "with a mitigation in force",
	"nobody": "no client, none", "anew": "again",
}

// accepted are phrases in which a word of avoided is the usual one.
var accepted = regexp.MustCompile(`(?i)reload (was )?refused|connection refused|` +
	`line flags|\[flags\]|flags %s;`) // options of a command, and in nft's language

// prose matches a text of two words or more, in lower case: not a name, a path or a format.
var prose = regexp.MustCompile(`\pL{2,}[,.:;]? \pL`)

// word matches what is looked up in avoided.
var word = regexp.MustCompile(`[\pL]+(?:['’]\pL+)?`)

// avoidedIn returns the words of text that are in avoided.
func avoidedIn(text string) (found []string) {
	for _, w := range word.FindAllString(accepted.ReplaceAllString(text, ""), -1) {
		if avoided[strings.ToLower(w)] != "" {
			found = append(found, w)
		}
	}
	return found
}

// checkWords reports the words of text at place that are in avoided.
func checkWords(t *testing.T, place, text string) {
	t.Helper()
	for _, w := range avoidedIn(text) {
		t.Errorf("%s: %q: write %s, in\n\t%s", place, w, avoided[strings.ToLower(w)], text)
	}
}

// TestHelpIsPlain: no help text of a command or a flag has a word of avoided.
func TestHelpIsPlain(t *testing.T) {
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, text := range []string{
			cmd.Use, cmd.Short, cmd.Long, cmd.Example,
			cmd.Flags().FlagUsages(),
		} {
			checkWords(t, cmd.CommandPath(), text)
		}
		for _, c := range cmd.Commands() {
			visit(c)
		}
	}
	visit(cli.NewRoot(cli.NewApp(t.Output(), t.Output()), commands))
}

// wordyRooms are the folders of which every text may reach a user: errors, log lines, HELP lines,
// answers, output.
var wordyRooms = []string{"edge", "cmd/headgate", "gossip", "mitigation", "window"}

// TestTextsArePlain: no string in the source that reads like a sentence has a word of avoided:
// errors, log lines, metrics' HELP, descriptions of the API.
func TestTextsArePlain(t *testing.T) {
	edgetest.Alone(t)
	root, texts := filepath.Join("..", ".."), 0
	for _, room := range wordyRooms {
		err := filepath.WalkDir(filepath.Join(root, room),
			func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") ||
					strings.HasSuffix(path, "_test.go") || forTests(path) {
					return err
				}
				texts += checkSource(t, path)
				return nil
			})
		if err != nil {
			t.Fatal(err)
		}
	}
	if texts < 500 {
		t.Errorf("%d texts are found: too few", texts)
	}
}

// forTests reports whether the file at path belongs to a package that only tests import.
func forTests(path string) bool {
	dir := filepath.Base(filepath.Dir(path))
	return strings.HasSuffix(dir, "test") || dir == "browser"
}

// checkSource checks every text of a Go file and returns their number.
func checkSource(t *testing.T, path string) (texts int) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field: // a tag is no text
			if n.Tag != nil {
				n.Tag.Value = "``"
			}
		case *ast.CallExpr: // what panic says is for programmers
			if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "panic" {
				return false
			}
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil &&
				prose.MatchString(text) {
				texts++
				checkWords(t, files.Position(n.Pos()).String(), text)
			}
		}
		return true
	})
	return texts
}

// TestAvoidedWords: the check itself sees a word in any form, and lets accepted phrases pass.
func TestAvoidedWords(t *testing.T) {
	for text, want := range map[string][]string{
		"Told nothing, by whose word": {"Told", "whose", "word"},
		"the reload was refused":      nil,
		"reload refused: flags":       {"flags"},
		"headgate serve [flags]":      nil,
		"wordy retold hearing":        nil,
	} {
		if got := avoidedIn(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if _, err := os.Stat(filepath.Join("..", "..", "edge")); err != nil {
		t.Fatal(err)
	}
}
