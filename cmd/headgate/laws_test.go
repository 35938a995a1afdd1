package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// law is something a source file may do only where it is listed.
type law struct {
	name string
	why  string
	// allowed are the beginnings of the paths that may, each with its reason.
	allowed map[string]string
}

// The laws that a reader of one file cannot see are kept: time and chance are arguments, and
// goroutines begin where something waits for them to end.
var (
	clockLaw = law{
		"reads the clock", "time is an argument (now window.Instant), so that every room is tested on a table of instants",
		map[string]string{
			"cmd/":                 "the world enters here",
			"bench/":               "it measures time",
			"edge/edge.go":         "Edge.Now is the node's one clock",
			"edge/run.go":          "the control loop's ticks",
			"edge/udp":             "socket deadlines",
			"edge/http":            "socket deadlines",
			"edge/pop.go":          "the flusher's ticks",
			"edge/state.go":        "the keeper's ticks",
			"edge/world.go":        "the ticks of a flusher without a ring",
			"edge/admin_live.go":   "the ticks of what is seen live",
			"edge/admin_events.go": "socket deadlines",
			"gossip/":              "memberlist's own time, sockets and joins",
			"edge/ring/":           "socket deadlines and the breaker's pauses",
		},
	}
	chanceLaw = law{
		"draws chance", "chance is an argument (u uint64), so that a decision can be replayed",
		map[string]string{
			"cmd/":               "the world enters here",
			"bench/":             "seeded loads",
			"sketch/live.go":     "which cells are watched for noise, drawn once: no count rests on it",
			"edge/udp":           "the packet loop draws for each request",
			"edge/http":          "the packet loop draws for each request",
			"edge/admin_explain": "explain peeks as the packet loop would",
			"gossip/join.go":     "when to join again",
			"gossip/keys.go":     "a key that nobody else has",
			"gossip/lossy/":      "seeded losses",
			"gossip/council/":    "nonces, from a seed that is an argument",
			"edge/wire/packet":   "where the ids of requests begin",
		},
	}
	goroutineLaw = law{
		"starts a goroutine with a go statement", "goroutines begin in Run and Serve, by a WaitGroup's Go, and never one a query",
		map[string]string{
			"cmd/":             "commands wait for what they start",
			"gossip/guard.go":  "a listener's streams, bounded, waited for by its shutdown",
			"gossip/socket.go": "a socket's two readers, waited for by its shutdown",
			"edge/http_conn":   "a watchdog for stopping, one a listener",
		},
	}
	initLaw = law{"has an init function", "what happens before main is seen by nobody", nil}
)

// clockNames are the functions of package time that look at a clock or wait for one.
var clockNames = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// chance are the packages that luck comes from.
var chance = []string{"math/rand", "math/rand/v2", "crypto/rand"}

func TestLaws(t *testing.T) {
	used := map[string]bool{} // leave that a file needs
	for _, p := range listPackages(t) {
		for _, name := range p.GoFiles {
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
			if calls(file, "time", []string{"Sleep"}) && !imports(file, "testing/synctest") {
				t.Errorf("%s/%s sleeps: wait for what is to happen, or sleep in a synctest bubble", p.room(), name)
			}
		}
	}
	for _, l := range []law{clockLaw, chanceLaw, goroutineLaw, initLaw} {
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
	if calls(file, "time", clockNames) {
		broken = append(broken, clockLaw)
	}
	if slices.ContainsFunc(chance, func(path string) bool { return imports(file, path) }) {
		broken = append(broken, chanceLaw)
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

// calls reports whether file names one of names of the package whose import path ends in pkg.
func calls(file *ast.File, pkg string, names []string) (found bool) {
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && slices.Contains(names, s.Sel.Name) {
			x, ok := s.X.(*ast.Ident)
			found = found || ok && x.Name == pkg
		}
		return !found
	})
	return found
}

func imports(file *ast.File, path string) bool {
	return slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"`+path+`"` })
}

// The laws see what they are to see.
func TestLawsOf(t *testing.T) {
	cases := []struct {
		source string
		want   []string
	}{
		{`package a; import "time"; var d = time.Second`, nil},
		{`package a; import "time"; func f() time.Time { return time.Now() }`, []string{clockLaw.name}},
		{`package a; import "math/rand/v2"; var n = rand.Int()`, []string{chanceLaw.name}},
		{`package a; func f() { go f() }`, []string{goroutineLaw.name}},
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
