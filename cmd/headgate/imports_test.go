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
)

const module = "github.com/headgate-dev/headgate"

// rooms is the drawing: which packages of this module each package may import, and why no others.
// Arrows point from a room to what it rests on; there are no others, in tests neither. CONTRIBUTING.md
// shows it as a picture.
var rooms = map[string]struct {
	imports []string
	why     string
}{
	"sketch":       {nil, "the sketch is arithmetic: it counts what it is handed and rests on nothing"},
	"window":       {[]string{"sketch"}, "a window is a sketch and slots over time; what a count leads to is mitigation's affair"},
	"window/trial": {[]string{"sketch", "window"}, "what other limits would have done is arithmetic over what was asked for; who shows it to whom is not its affair"},
	"mitigation":   {[]string{"sketch", "window"}, "the judge is handed rule, count and flag; it must not know who asks, or over what"},
	"gossip":       {[]string{"mitigation", "sketch", "window", "gossip/lossy"}, "gossip carries flags; cmd/headgate joins it to edge by plain funcs, so that either can be tested without the other"},

	"gossip/lossy":   {nil, "a network in memory that loses, delays and cuts, for the tests of whatever gossips"},
	"gossip/council": {[]string{"mitigation", "sketch", "window"}, "the control loop is arithmetic over reports: it is handed time, chance and a way to send, so that a simulated world runs the same code"},

	"edge/wire":   {nil, "any Go program may embed the client: nothing may come along with it"},
	"edge/config": {[]string{"mitigation"}, "the configuration is values and their faults; it opens nothing and starts nothing"},
	"edge/ring":   {[]string{"window"}, "the ring adds up deltas; whom they convict is not its affair"},
	"edge/live":   {nil, "streams and histories are bytes, names and numbers; what they show is the edge's affair"},
	"edge/web":    {[]string{"edge/web/browser"}, "the dashboard is pages that fetch the admin listener's JSON"},

	"edge/web/browser": {nil, "a browser for tests: it knows pages, not what is on them"},

	"edge": {
		[]string{"sketch", "window", "window/trial", "mitigation", "edge/config", "edge/wire", "edge/ring", "edge/web", "edge/live"},
		"the edge is where rooms meet doors; it does not know gossip or the command line",
	},

	"cmd/headgate": {
		[]string{
			"sketch", "window", "window/trial", "mitigation", "gossip", "gossip/council", "gossip/lossy", "edge", "edge/config", "edge/wire", "edge/ring",
			"edge/live", "edge/web", "edge/web/browser",
			"cmd/headgate/accesslog", "cmd/headgate/oracle",
		},
		"the one place that may know everything",
	},
	"cmd/headgate/accesslog": {nil, "a log reader knows lines of text, not headgate"},
	"cmd/headgate/oracle":    {[]string{"window"}, "the judge of the judge must share nothing with it but the exact log"},

	"bench/load": {[]string{"edge/wire"}, "a load generator that shared the server's code would share its mistakes"},
	"bench/ring": {
		[]string{"mitigation", "edge", "edge/config", "edge/ring", "edge/wire"},
		"it drives a real node over a real ring, and takes only the time",
	},
	"bench/world": {
		[]string{"sketch", "window", "mitigation", "gossip/council"},
		"it drives the control loop and the counters on virtual time: nothing real may come along",
	},
	"bench/accuracy": {
		[]string{"sketch", "window", "mitigation", "edge", "edge/config", "edge/wire", "cmd/headgate/oracle"},
		"it drives the real rooms and holds them to the exact log; it must not go through a command",
	},
}

// doors is the list of third parties, each with the rooms that may know it: to replace one, those are
// all there is to touch.
var doors = map[string]struct {
	rooms []string
	why   string
}{
	"github.com/bradfitz/gomemcache":          {[]string{"edge/ring"}, "only the ring speaks memcached"},
	"github.com/hashicorp/memberlist":         {[]string{"gossip", "gossip/lossy"}, "only gossip knows the members"},
	"github.com/cespare/xxhash/v2":            {[]string{"edge/ring", "gossip", "gossip/council", "bench/accuracy"}, "only where nodes must agree: counting is by a seeded maphash, or keys could be made to collide"},
	"github.com/valyala/fasthttp":             {[]string{"edge"}, "only the decision listener uses it; clients and the admin listener use net/http"},
	"github.com/prometheus/client_golang":     {[]string{"edge"}, "rooms count, the edge reports"},
	"go.yaml.in/yaml/v3":                      {[]string{"edge/config"}, "only the configuration is YAML"},
	"github.com/spf13/cobra":                  {[]string{"cmd/headgate"}, "only the command line parses flags"},
	"github.com/HdrHistogram/hdrhistogram-go": {[]string{"bench/load"}, "only the load generator keeps histograms"},
	"golang.org/x/sys":                        {[]string{"edge", "cmd/headgate", "bench/load"}, "system calls are for sockets and terminals"},
}

// testTools are third parties that any test may use, and nothing else.
var testTools = []string{"github.com/google/go-cmp", "pgregory.net/rapid", "go.uber.org/goleak"}

// worldly are the packages of the standard library through which the world would enter a room that
// is to be pure, of which time and chance are arguments.
var worldly = []string{"net", "os", "syscall", "log", "io/fs", "path/filepath"}

// pure are the rooms that may import nothing worldly.
var pure = []string{"sketch", "window", "window/trial", "mitigation"}

// goPackage is what `go list -json` tells of a package.
type goPackage struct {
	ImportPath                         string
	Dir                                string
	GoFiles, TestGoFiles, XTestGoFiles []string
	Imports, TestImports, XTestImports []string
}

// room returns the package's path inside the module.
func (p goPackage) room() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
}

// listPackages returns all packages of the module.
func listPackages(t *testing.T) []goPackage {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Dir,GoFiles,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports", "./...")
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
	for _, p := range listPackages(t) {
		if _, ok := rooms[p.room()]; !ok {
			t.Errorf("%s: has no room in the drawing; give it one in imports_test.go, with what it may import and why", p.room())
			continue
		}
		for _, path := range p.Imports {
			if fault := wrongImport(p.room(), path); fault != "" {
				t.Errorf("%s imports %s: %s", p.room(), path, fault)
			}
		}
		for _, path := range slices.Concat(p.TestImports, p.XTestImports) {
			if fault := wrongImport(p.room(), path); fault != "" && path != p.ImportPath && !within(path, testTools) && !within(path, worldly) {
				t.Errorf("a test of %s imports %s: %s", p.room(), path, fault)
			}
		}
	}
}

// wrongImport says why room must not import path, or "".
func wrongImport(room, path string) string {
	switch {
	case within(path, []string{module}):
		if !slices.Contains(rooms[room].imports, strings.TrimPrefix(path, module+"/")) {
			return rooms[room].why
		}
	case !strings.Contains(strings.Split(path, "/")[0], "."): // the standard library
		if slices.Contains(pure, room) && within(path, worldly) {
			return "time, chance and the world enter through cmd and the doors; a pure room is handed plain values"
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
	return "a new third party: name its one door in imports_test.go, and say in the commit what it gives that we cannot"
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
		{"edge", module + "/gossip", true},
		{"gossip", module + "/edge", true},
		{"edge/wire", module + "/mitigation", true},
		{"window", "net", true},
		{"mitigation", "os/exec", true},
		{"sketch", "hash/maphash", false},
		{"edge", "net/http", false},
		{"window", "github.com/cespare/xxhash/v2", true},
		{"gossip", "github.com/cespare/xxhash/v2", false},
		{"edge", "github.com/bradfitz/gomemcache/memcache", true},
		{"edge", "github.com/valyala/fasthttp/fasthttputil", false},
		{"edge", "github.com/valyala/fasthttpx", true},
		{"cmd/headgate", "example.com/handy", true},
	}
	for _, c := range cases {
		if fault := wrongImport(c.room, c.path); (fault != "") != c.wrong {
			t.Errorf("%s imports %s: %q, want wrong %v", c.room, c.path, fault, c.wrong)
		}
	}
}
