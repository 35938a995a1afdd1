package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

const module = "github.com/headgate-dev/headgate"

// testTools are third parties that any test may use, and nothing else.
var testTools = []string{"github.com/google/go-cmp", "pgregory.net/rapid", "go.uber.org/goleak"}

// worldly are the packages of the standard library through which the world would enter a room that
// is to be pure, of which time and chance are arguments.
var worldly = []string{"net", "os", "syscall", "log", "io/fs", "path/filepath"}

// pure are the rooms that may import nothing worldly.
var pure = slices.Concat(coordinatorParts, []string{
	"sketch", "window", "window/whatif", "mitigation", "gossip/coordinator", "edge/live",
	"cmd/headgate/accesslog", "cmd/headgate/oracle",
})

// goPackage is a package as `go list -json` prints it.
type goPackage struct {
	ImportPath                         string
	Dir                                string
	GoFiles, TestGoFiles, XTestGoFiles []string
	IgnoredGoFiles                     []string
	Imports, TestImports, XTestImports []string
}

// room returns the package's path inside the module.
func (p goPackage) room() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
}

// otherSystems returns the package's source files that are not built here.
func (p goPackage) otherSystems() []string {
	return slices.DeleteFunc(slices.Clone(p.IgnoredGoFiles),
		func(name string) bool { return strings.HasSuffix(name, "_test.go") })
}

// listPackages returns all packages of the module.
func listPackages(t *testing.T) []goPackage {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list",
		"-json=ImportPath,Dir,GoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports",
		"./...")
	list.Dir = filepath.Join("..", "..")
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		packages = append(packages, p)
	}
}

func TestImportsFollowTheDrawing(t *testing.T) {
	edgetest.Alone(t)
	for _, p := range listPackages(t) {
		_, isRoom := rooms[p.room()]
		_, isKit := kits[p.room()]
		if isRoom == isKit {
			t.Errorf("%s: has no room in the drawing, or two; give it one in "+
				"imports_list_test.go, with what it may import and why", p.room())
			continue
		}
		for _, path := range p.Imports {
			if fault := wrongImport(p.room(), path); fault != "" {
				t.Errorf("%s imports %s: %s", p.room(), path, fault)
			}
		}
		for _, path := range slices.Concat(p.TestImports, p.XTestImports) {
			if fault := wrongTestImport(p.room(), path); fault != "" && path != p.ImportPath {
				t.Errorf("a test of %s imports %s: %s", p.room(), path, fault)
			}
		}
	}
}

// wrongTestImport says why a test of room must not import path, or "".
func wrongTestImport(room, path string) string {
	other := strings.TrimPrefix(path, module+"/")
	if _, isKit := kits[other]; isKit || within(path, testTools) || within(path, worldly) ||
		slices.Contains(testImports[room], other) {
		return ""
	}
	return wrongImport(room, path)
}

// wrongImport says why room, which may be a kit, must not import path, or "".
func wrongImport(room, path string) string {
	r, isRoom := rooms[room]
	if !isRoom {
		r = kits[room]
	}
	switch {
	case within(path, []string{module}):
		if !slices.Contains(r.imports, strings.TrimPrefix(path, module+"/")) {
			return r.why
		}
	case !strings.Contains(strings.Split(path, "/")[0], "."): // the standard library
		if slices.Contains(pure, room) && within(path, worldly) {
			return "time, chance and the world enter through cmd and the doors; a pure room is " +
				"handed plain values"
		}
	default:
		return wrongDoor(room, path)
	}
	return ""
}

// wrongDoor says why room must not import the third party's path, or "".
func wrongDoor(room, path string) string {
	for party, door := range doors {
		if !within(path, []string{party}) {
			continue
		}
		if !slices.Contains(door.rooms, room) {
			return door.why
		}
		return ""
	}
	return "a new third party: name its one door in imports_test.go, and say in the commit what " +
		"it gives that we cannot"
}

// within reports whether path is one of roots or lies below one.
func within(path string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		return path == root || strings.HasPrefix(path, root+"/")
	})
}

// The rules themselves, so that a slip in them does not pass for order in the house.
func TestWrongImport(t *testing.T) {
	cases := []struct {
		room, path string
		wrong      bool
	}{
		{"window", module + "/sketch", false},
		{"sketch", module + "/window", true},
		{"edge/gate", module + "/gossip", true},
		{"gossip", module + "/edge", true},
		{"edge/wire", module + "/mitigation", true},
		{"edge", module + "/edge/edgetest", true},
		{"edge/pop/poptest", module + "/edge/ring/ringtest", false},
		{"edge/pop/poptest", module + "/edge/admin", true},
		{"window", "net", true},
		{"mitigation", "os/exec", true},
		{"gossip/coordinator", "net/netip", true},
		{"cmd/headgate/oracle", "os", true},
		{"sketch", "hash/maphash", false},
		{"edge", "net/http", false},
		{"window", "github.com/cespare/xxhash/v2", true},
		{"gossip", "github.com/cespare/xxhash/v2", false},
		{"edge", "github.com/bradfitz/gomemcache/memcache", true},
		{"edge/door/http", "github.com/valyala/fasthttp", true},
		{"cmd/headgate", "example.com/handy", true},
	}
	for _, c := range cases {
		if fault := wrongImport(c.room, c.path); (fault != "") != c.wrong {
			t.Errorf("%s imports %s: %q, want wrong %v", c.room, c.path, fault, c.wrong)
		}
	}
}
