package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

func TestLaws(t *testing.T) {
	edgetest.Alone(t)
	used := map[string]bool{} // leave that a file needs
	for _, p := range listPackages(t) {
		for _, name := range slices.Concat(p.GoFiles, p.otherSystems()) {
			path := p.room() + "/" + name
			for _, broken := range brokenLaws(t, filepath.Join(p.Dir, name)) {
				leave := broken.leave(path)
				used[broken.name+" "+leave] = true
				if leave == "" {
					t.Errorf("%s %s: %s", path, broken.name, broken.why)
				}
			}
		}
		for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			file := parseFile(t, filepath.Join(p.Dir, name), nil)
			if uses(file, "time", []string{"Sleep"}) && !imports(file, "testing/synctest") {
				t.Errorf("%s/%s sleeps: wait for what is to happen, or sleep in a synctest bubble",
					p.room(), name)
			}
		}
	}
	for _, l := range laws {
		for prefix := range l.allowed {
			if !used[l.name+" "+prefix] {
				t.Errorf("%s…: no file there %s any more: take it off the list", prefix, l.name)
			}
		}
	}
}

// leave returns the entry of the list that lets the file at path do it, or "".
func (l law) leave(path string) string {
	for prefix := range l.allowed {
		if strings.HasPrefix(path, prefix) {
			return prefix
		}
	}
	return ""
}

// brokenLaws returns the laws that the file at path would need leave from.
func brokenLaws(t *testing.T, path string) []law { return lawsOf(parseFile(t, path, nil)) }

func lawsOf(file *ast.File) (broken []law) {
	if uses(file, "time", clockNames) {
		broken = append(broken, clockLaw)
	}
	waits := receivesTime(file)
	for path, names := range waitNames {
		waits = waits || uses(file, path, names)
	}
	if waits {
		broken = append(broken, waitLaw)
	}
	if callsMethod(file, "Go") || uses(file, "time", afterFunc) ||
		uses(file, "context", afterFunc) {
		broken = append(broken, groupLaw)
	}
	if slices.ContainsFunc(chance, func(path string) bool { return imports(file, path) }) {
		broken = append(broken, chanceLaw)
	}
	if importsOf(file, system, nil) {
		broken = append(broken, osLaw)
	}
	if importsOf(file, network, values) {
		broken = append(broken, netLaw)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			broken = append(broken, goroutineLaw)
		case *ast.FuncDecl:
			if n.Name.Name == "init" && n.Recv == nil {
				broken = append(broken, initLaw)
			}
		}
		return true
	})
	return broken
}

func parseFile(t *testing.T, path string, source any) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	return file
}

// uses reports whether file names one of names of the package imported from path, under whichever
// name.
func uses(file *ast.File, path string, names []string) (found bool) {
	local := localName(file, path)
	if local == "" || local == "." { // after a dot import any name could be the package's
		return local == "."
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && slices.Contains(names, s.Sel.Name) {
			x, ok := s.X.(*ast.Ident)
			found = found || ok && x.Name == local
		}
		return !found
	})
	return found
}

// localName returns the name by which file speaks of the package imported from p, or "" if it does
// not import it.
func localName(file *ast.File, p string) string {
	for _, i := range file.Imports {
		switch {
		case i.Path.Value != `"`+p+`"`:
		case i.Name != nil:
			return i.Name.Name
		default:
			return path.Base(p)
		}
	}
	return ""
}

func imports(file *ast.File, path string) bool { return localName(file, path) != "" }

// receivesTime reports whether file receives from the channel C of a timer or ticker, wherever that
// was made.
func receivesTime(file *ast.File) (found bool) {
	ast.Inspect(file, func(n ast.Node) bool {
		if r, ok := n.(*ast.UnaryExpr); ok && r.Op == token.ARROW {
			s, ok := r.X.(*ast.SelectorExpr)
			found = found || ok && s.Sel.Name == "C"
		}
		return !found
	})
	return found
}

// importsOf reports whether file imports one of roots, or a package below one, that is not among
// but.
func importsOf(file *ast.File, roots, but []string) bool {
	return slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool {
		path := strings.Trim(i.Path.Value, `"`)
		return within(path, roots) && !slices.Contains(but, path)
	})
}

// callsMethod reports whether file calls, with one argument, a method or a function of a package
// called name. Types are not known here: whatever has such a method counts as a sync.WaitGroup.
func callsMethod(file *ast.File, name string) (found bool) {
	ast.Inspect(file, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok && len(c.Args) == 1 {
			s, ok := c.Fun.(*ast.SelectorExpr)
			found = found || ok && s.Sel.Name == name
		}
		return !found
	})
	return found
}

// Each law finds the code that breaks it, and no other.
func TestLawsOf(t *testing.T) {
	cases := []struct {
		source string
		want   []string
	}{
		{`package a; import "time"; var d = time.Second`, nil},
		{
			`package a; import "time"; func f() time.Time { return time.Now() }`,
			[]string{clockLaw.name},
		},
		{`package a; import "math/rand/v2"; var n = rand.Int()`, []string{chanceLaw.name}},
		{`package a; func f() { go f() }`, []string{goroutineLaw.name}},
		{`package a; import t "time"; var now = t.Now()`, []string{clockLaw.name}},
		{`package a; import . "time"; var now = Now()`, []string{
			clockLaw.name, waitLaw.name,
			groupLaw.name,
		}},
		{
			`package a; import "sync"; func f(w *sync.WaitGroup) { w.Go(func() {}) }`,
			[]string{groupLaw.name},
		},
		{`package a; func f(w interface{ Go(a, b int) }) { w.Go(1, 2) }`, nil},
		{`package a; import "context"; func f(c context.Context) { context.AfterFunc(c, func() {}) }`, []string{groupLaw.name}},
		{
			`package a; import "time"; func f() { time.AfterFunc(1, func() {}) }`,
			[]string{waitLaw.name, groupLaw.name},
		},
		{`package a; import "time"; func f() { time.Sleep(1) }`, []string{waitLaw.name}},
		{`package a; import "time"; func f() { <-time.After(1) }`, []string{waitLaw.name}},
		{`package a; import "time"; func f(late *time.Timer) { <-late.C }`, []string{waitLaw.name}},
		{
			`package a; import "context"; func f(c context.Context) { context.WithTimeout(c, 1) }`,
			[]string{waitLaw.name},
		},
		{`package a; import "context"; func f(c context.Context) { context.WithCancel(c) }`, nil},
		{`package a; import "os/exec"; var c exec.Cmd`, []string{osLaw.name}},
		{
			`package a; import "golang.org/x/sys/unix"; var pid = unix.Getpid()`,
			[]string{osLaw.name},
		},
		{`package a; import "net"; var c net.Conn`, []string{netLaw.name}},
		{`package a; import _ "net/http/pprof"`, []string{netLaw.name}},
		{`package a; import "net/netip"; var a netip.Addr`, nil},
		{`package a; func init() {}`, []string{initLaw.name}},
		{`package a; type b int; func (b) init() {}`, nil},
	}
	for _, c := range cases {
		var got []string
		for _, broken := range lawsOf(parseFile(t, "a.go", c.source)) {
			got = append(got, broken.name)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s\nbreaks %q, want %q", c.source, got, c.want)
		}
	}
	if clockLaw.leave("window/log.go") != "" || clockLaw.leave("cmd/headgate/top.go") == "" {
		t.Error("the list of who may read the clock is not followed")
	}
}

// TestRequestsAreRead: doors and clients fill in a request by request.Reader alone, which has a
// reading for every sequence of bytes. Setters of their own would each have an opinion.
func TestRequestsAreRead(t *testing.T) {
	edgetest.Alone(t)
	setters := []string{"SetTarget", "SetHost", "AddHeader"}
	for _, p := range listPackages(t) {
		if !within(p.room(), []string{"edge/door", "edge/client"}) {
			continue
		}
		for _, name := range slices.Concat(p.GoFiles, p.otherSystems()) {
			ast.Inspect(parseFile(t, filepath.Join(p.Dir, name), nil), func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok && slices.Contains(setters, s.Sel.Name) {
					t.Errorf("%s/%s names %s: use request.Reader", p.room(), name, s.Sel.Name)
				}
				return true
			})
		}
	}
}
