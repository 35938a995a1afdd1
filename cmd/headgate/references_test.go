package main

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

// foreign are the folders with text of other origin: the history, build results, and third parties'
// code.
var foreign = []string{".git", "bin", "dist", "edge/web/assets/third_party"}

var (
	document = regexp.MustCompile(`[\w-]+\.md\b`)
	climb    = regexp.MustCompile(`(?:\.\./)+`)
)

// readTexts returns the text files of the repository, by their paths in it.
func readTexts(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	root := os.DirFS(filepath.Join("..", ".."))
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(foreign, name):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err == nil && utf8.Valid(text) && !bytes.Contains(text, []byte{0}) {
			texts[name] = string(text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// TestReferencesStayInTheRepository: whoever has a clone has every document and file that it speaks
// of.
func TestReferencesStayInTheRepository(t *testing.T) {
	edgetest.Alone(t)
	texts := readTexts(t)
	documents := map[string]bool{"RELEASE.md": true} // which deploy/release/make makes
	for name := range texts {
		documents[path.Base(name)] = true
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		for _, fault := range foreignReferences(name, texts[name], documents) {
			t.Errorf("%s: %s is not in the repository", name, fault)
		}
	}
}

// foreignReferences returns the documents that the text of the file called name mentions and that
// are not among documents, and the relative paths in it that lead out of the repository.
func foreignReferences(name, text string, documents map[string]bool) (faults []string) {
	for _, found := range document.FindAllString(text, -1) {
		if !documents[found] {
			faults = append(faults, found)
		}
	}
	joined := strings.ReplaceAll(text, `"..", `, "../") // as filepath.Join is given it
	for _, found := range climb.FindAllString(joined, -1) {
		if strings.Count(found, "../") > strings.Count(name, "/") {
			faults = append(faults, found)
		}
	}
	return faults
}

// The rule finds foreign references. The cases are put together here, or it would find them in this
// file.
func TestForeignReferences(t *testing.T) {
	out, up := strings.Repeat("../", 3), strings.Repeat(`"..", `, 2)
	for text, want := range map[string]string{
		"as README.md says":                                 "",
		"as plans" + ".md says":                             "plans" + ".md",
		"filepath.Join(" + up + `"testdata")`:               "",
		"Join(" + up + `"..", ` + `"elsewhere")`:            out,
		`open("../../LICENSE"), open("` + out + `LICENSE")`: out,
	} {
		got := foreignReferences("a/b/c.go", text, map[string]bool{"README.md": true})
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
