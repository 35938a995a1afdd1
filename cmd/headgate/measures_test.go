package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

// ceilings bound the size of the house and its language. A ceiling falls with what it measures, and
// rises by no more than the lines that an issue grants for what it adds: slack is how far below its
// ceiling a figure may be before the ceiling must follow.
var ceilings = map[string]struct{ most, slack float64 }{
	"lines of code":                          {78074, 400},
	"lines of tests":                         {77482, 600},
	"packages":                               {95, 2},
	"direct dependencies":                    {12, 0},
	"numeric constants per 1,000 lines":      {12.8, 0.4},
	"it, its, that, they, them per 1,000":    {21.2, 1},
	"one, ones per 1,000":                    {1.8, 0.5},
	"what per 1,000":                         {0.7, 0.3},
	"lines of code over 100 columns":         {31, 12},
	"lines of tests over 100 columns":        {323, 60},
	"files of code over 300 lines":           {0, 0},
	"structs with more than 6 bools":         {0, 0},
	"lines of the 99th of 100 functions":     {38, 2},
	"words of CONTRIBUTING.md":               {1_250, 50},
	"packages under 150 lines, one importer": {4, 1},
}

// Tokens per line, as they were when lines were first measured so: to wrap a line costs nothing, to
// pack lines saves nothing.
const tokensOfCode, tokensOfTests = 7.19, 8.17

// house is what the measures count.
type house struct {
	tokens, testTokens   int
	constants            int
	words                map[string]int
	comments             int // words in comments
	wide, testWide, long int
	boolish              int
	functions            []int // lines of each
	perPackage           map[string]int
}

// TestMeasures holds each figure below its ceiling, and each ceiling close to its figure.
func TestMeasures(t *testing.T) {
	edgetest.Alone(t)
	h := house{words: map[string]int{}, perPackage: map[string]int{}}
	packages := listPackages(t)
	importers := map[string]int{}
	for _, p := range packages {
		_, kit := kits[p.room()]
		kit = kit || strings.HasSuffix(p.ImportPath, "test") ||
			slices.Contains(p.Imports, "testing")
		for _, name := range slices.Concat(p.GoFiles, p.otherSystems()) {
			h.read(t, p.room(), filepath.Join(p.Dir, name), kit ||
				strings.HasSuffix(name, "_test.go"))
		}
		for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			h.read(t, p.room(), filepath.Join(p.Dir, name), true)
		}
		for _, path := range p.Imports {
			importers[path]++
		}
	}
	figures := h.figures(t)
	for _, p := range packages {
		if len(p.GoFiles) == 0 { // tests alone, which nothing can import
			continue
		}
		figures["packages"]++
		if h.perPackage[p.room()] > 0 && importers[p.ImportPath] == 1 &&
			float64(h.perPackage[p.room()])/tokensOfCode < 150 {
			figures["packages under 150 lines, one importer"]++
		}
	}
	for name, figure := range figures {
		c := ceilings[name]
		switch {
		case figure > c.most:
			t.Errorf("%s: %.1f, more than %.1f", name, figure, c.most)
		case figure < c.most-c.slack:
			t.Errorf("%s: %.1f: lower its ceiling of %.1f", name, figure, c.most)
		}
	}
	if testing.Verbose() {
		for name, figure := range figures {
			t.Logf("%-40s %10.1f", name, figure)
		}
	}
}

// figures returns the measures of all that was read.
func (h *house) figures(t *testing.T) map[string]float64 {
	t.Helper()
	lines := float64(h.tokens) / tokensOfCode
	per := func(words ...string) float64 {
		n := 0
		for _, w := range words {
			n += h.words[w]
		}
		return float64(n) * 1000 / float64(h.comments)
	}
	slices.Sort(h.functions)
	return map[string]float64{
		"lines of code":                       lines,
		"lines of tests":                      float64(h.testTokens) / tokensOfTests,
		"direct dependencies":                 float64(directDependencies(t)),
		"numeric constants per 1,000 lines":   float64(h.constants) * 1000 / lines,
		"it, its, that, they, them per 1,000": per("it", "its", "that", "they", "them"),
		"one, ones per 1,000":                 per("one", "ones"),
		"what per 1,000":                      per("what"),
		"lines of code over 100 columns":      float64(h.wide),
		"lines of tests over 100 columns":     float64(h.testWide),
		"files of code over 300 lines":        float64(h.long),
		"structs with more than 6 bools":      float64(h.boolish),
		"lines of the 99th of 100 functions":  float64(h.functions[len(h.functions)*99/100]),
		"words of CONTRIBUTING.md": float64(len(bytes.Fields(repositoryFile(t,
			"CONTRIBUTING.md")))),
		"packages":                               0,
		"packages under 150 lines, one importer": 0,
	}
}

// commentWord is a word of a comment.
var commentWord = regexp.MustCompile(`[A-Za-z][A-Za-z'-]*`)

// read adds a file of a room.
func (h *house) read(t *testing.T, room, path string, test bool) {
	t.Helper()
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n, wide := tokens(source), 0
	for line := range bytes.Lines(source) {
		if columns(line) > 100 && !bytes.Contains(line, []byte("://")) {
			wide++
		}
	}
	if test {
		h.testTokens, h.testWide = h.testTokens+n, h.testWide+wide
		return
	}
	h.tokens, h.wide = h.tokens+n, h.wide+wide
	h.perPackage[room] += n
	if bytes.Count(source, []byte("\n")) > 300 {
		h.long++
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, source,
		parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range file.Comments {
		for _, w := range commentWord.FindAllString(group.Text(), -1) {
			h.comments++
			h.words[strings.ToLower(w)]++
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Body != nil {
				h.functions = append(h.functions,
					set.Position(n.End()).Line-set.Position(n.Pos()).Line+1)
			}
		case *ast.GenDecl:
			if n.Tok == token.CONST {
				h.constants += numeric(n)
			}
		case *ast.StructType:
			if bools(n) > 6 {
				h.boolish++
			}
		}
		return true
	})
}

// tokens returns how many tokens source has, without comments, commas and semicolons.
func tokens(source []byte) (n int) {
	var s scanner.Scanner
	set := token.NewFileSet()
	s.Init(set.AddFile("", set.Base(), len(source)), source, nil, 0)
	for {
		switch _, is, _ := s.Scan(); is {
		case token.EOF:
			return n
		case token.COMMA, token.SEMICOLON:
		default:
			n++
		}
	}
}

// columns returns how wide a line is, with tabs of four.
func columns(line []byte) int {
	return utf8.RuneCount(bytes.TrimRight(line, "\n")) + 3*bytes.Count(line, []byte("\t"))
}

// numeric returns how many names of a const declaration have a value with a number, and without
// iota.
func numeric(d *ast.GenDecl) (n int) {
	for _, spec := range d.Specs {
		values, _ := spec.(*ast.ValueSpec)
		number, iota := false, false
		for _, v := range values.Values {
			ast.Inspect(v, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BasicLit:
					number = number || n.Kind == token.INT || n.Kind == token.FLOAT
				case *ast.Ident:
					iota = iota || n.Name == "iota"
				}
				return true
			})
		}
		if number && !iota {
			n += len(values.Names)
		}
	}
	return n
}

// bools returns how many fields of a struct are of type bool.
func bools(s *ast.StructType) (n int) {
	for _, f := range s.Fields.List {
		if is, ok := f.Type.(*ast.Ident); ok && is.Name == "bool" {
			n += max(1, len(f.Names))
		}
	}
	return n
}

// directDependencies returns how many modules go.mod requires for itself.
func directDependencies(t *testing.T) (n int) {
	t.Helper()
	required := false
	for line := range strings.Lines(string(repositoryFile(t, "go.mod"))) {
		switch line = strings.TrimSpace(line); {
		case line == "require (":
			required = true
		case line == ")":
			required = false
		case required && line != "" && !strings.Contains(line, "// indirect"):
			n++
		}
	}
	return n
}

// repositoryFile returns a file of the top level.
func repositoryFile(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", name))
	if err != nil {
		t.Fatal(err)
	}
	return content
}
