package config_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/mitigation"
)

func TestDefaultIsWhatTheDocumentationSays(t *testing.T) {
	c := config.Default()
	loopback := func(port uint16) []config.Address {
		return []config.Address{{Host: "127.0.0.1", Port: port}}
	}
	want := config.Config{
		PoP:    "local",
		Listen: config.Listen{UDP: loopback(4290), HTTP: loopback(4291), Admin: loopback(4292)},
		TLS:    config.TLS{Clients: "known"},
		RESP:   config.RESP{Rule: "cl.throttle"}, Memory: 67108864, TicketKeep: time.Minute,
		Policies: policy.Spec{Clients: request.DefaultClients()},
		Surge:    config.Surge{Sample: 200, Learn: time.Hour, MinRate: 5},
		History:  4 << 20,
		Ring:     config.Ring{Flush: 100 * time.Millisecond, Timeout: 50 * time.Millisecond},
		Rules: []mitigation.Rule{
			{
				Name: "per-ip", Limit: 100, Window: 10 * time.Second, Scope: mitigation.Node,
				Action: mitigation.Shed, Mode: mitigation.Enforce,
				FailureMode: mitigation.FailLocal,
			},
			{
				Name: "login", Limit: 5, Window: time.Minute, Scope: mitigation.Node,
				Action: mitigation.Block, BlockFor: 10 * time.Minute,
				Mode: mitigation.Enforce, FailureMode: mitigation.FailLocal,
			},
		},
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got %+v, want %+v", c, want)
	}
	roundTrip(t, c)
}

// TestExampleFile keeps deploy/headgate.yaml true: it must say exactly the defaults, and name every
// field that the effective configuration has.
func TestExampleFile(t *testing.T) {
	const path = "../../deploy/headgate.yaml"
	c, err := config.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := config.Default(); !reflect.DeepEqual(c, want) {
		t.Errorf("got %+v, want %+v", c, want)
	}
	text := string(read(t, path))
	for line := range strings.Lines(string(roundTrip(t, c))) {
		name, _, isField := strings.Cut(strings.TrimLeft(line, " -"), ":")
		if isField && !strings.Contains(text, name+":") {
			t.Errorf("the example does not show %s", name)
		}
	}
}

func TestReadRefusesWhatIsNoConfigurationFile(t *testing.T) {
	dir := t.TempDir()
	pipe, huge, locked := filepath.Join(dir, "pipe"), filepath.Join(dir, "huge"),
		filepath.Join(dir, "missing")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(huge, make([]byte, config.MaxBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		dir:         "not a regular file",
		pipe:        "not a regular file",
		"/dev/zero": "not a regular file",
		huge:        "larger than 1 MiB",
		locked:      "no such file or directory",
	} {
		_, err := config.Read(path)
		if err == nil || err.Error() != "config: read "+path+": "+want {
			t.Errorf("%s: got %v, want %s", path, err, want)
		}
	}
	if _, err := config.Read(locked); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a caller cannot tell that the file is missing: %v", err)
	}
}

func TestReadFollowsLinksAndNamesTheFile(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "headgate.yaml")
	if err := os.WriteFile(filepath.Join(dir, "data"), []byte("pop: lhr\nquux: 1\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("data", link); err != nil {
		t.Fatal(err)
	}
	_, err := config.Read(link)
	var faults config.Faults
	if !errors.As(err, &faults) {
		t.Fatalf("got %v, want faults", err)
	}
	want := config.Fault{File: link, Line: 2, Col: 1, Message: `unknown field "quux"`}
	if len(faults) != 1 || faults[0] != want {
		t.Errorf("got %v, want %v", faults, want)
	}
}

func TestReadOfNoFileIsDefault(t *testing.T) {
	c, err := config.Read("")
	if err != nil || !reflect.DeepEqual(c, config.Default()) {
		t.Errorf("got %+v, %v", c, err)
	}
}

// TestBounds tries each bound and the first value beyond it.
func TestBounds(t *testing.T) {
	rule := func(field string) string {
		return "rules: [{name: a, limit: 1, window: 1s, " + field +
			"}]"
	}
	limit := func(n string) string { return "rules: [{name: a, limit: " + n + ", window: 1s}]" }
	window := func(w string) string { return "rules: [{name: a, limit: 1, window: " + w + "}]" }
	for _, c := range []struct{ good, bad string }{
		{limit("1"), limit("0")},
		{limit("1000000000"), limit("1000000001")},
		{window("1s"), window("999ms")},
		{window("24h"), window("24h0m0.001s")},
		{window("1.001s"), window("1.0001s")},
		{rule("action: block, block_for: 1s"), rule("action: block, block_for: 999ms")},
		{rule("action: block, block_for: 720h"), rule("action: block, block_for: 720h0m1s")},
		{rule("block_for: 0s"), rule("block_for: 1s")},
		{"memory: 1MiB", "memory: 1048575"},
		{"memory: 64GiB", "memory: 68719476737"},
		{"memory: 1GiB", "memory: 17179869185GiB"}, // 2^64 bytes more
		{"ring: {flush: 10ms}", "ring: {flush: 9ms}"},
		{"ring: {flush: 10s}", "ring: {flush: 10001ms}"},
		{"ring: {timeout: 1ms}", "ring: {timeout: 999us}"},
		{"ring: {timeout: 5s}", "ring: {timeout: 5001ms}"},
		{`ring: {servers: ["a:1 1"]}`, `ring: {servers: ["a:1 0"]}`},
		{`ring: {servers: ["a:1 1000"]}`, `ring: {servers: ["a:1 1001"]}`},
		{`listen: {udp: ["127.0.0.1:65535"]}`, `listen: {udp: ["127.0.0.1:65536"]}`},
		{"pop: " + strings.Repeat("p", 64), "pop: " + strings.Repeat("p", 65)},
		{"node: " + strings.Repeat("n", 253), "node: " + strings.Repeat("n", 254)},
		{"state_dir: " + strings.Repeat("d", 4095), "state_dir: " + strings.Repeat("d", 4096)},
		{"listen: {http: unix:/" + strings.Repeat("s", 106) + "}", "listen: {http: unix:/" +
			strings.Repeat("s", 107) + "}"},
		{
			list("rules", "{name: r%d, limit: 1, window: 1s}", 1000),
			list("rules", "{name: r%d, limit: 1, window: 1s}", 1001),
		},
		{
			"listen: {" + list("udp", `"127.0.0.1:%d"`, 16) + "}",
			"listen: {" + list("udp", `"127.0.0.1:%d"`, 17) + "}",
		},
		{"ring: {" + list("servers", `"h:%d"`, 256) + "}", "ring: {" + list("servers", `"h:%d"`,
			257) + "}"},
		{
			"gossip: {bind: localhost:1, " + list("join", `"h:%d"`, 1000) + "}",
			"gossip: {bind: localhost:1, " + list("join", `"h:%d"`, 1001) + "}",
		},
	} {
		good, err := config.Parse("good", []byte(c.good))
		if err != nil {
			t.Errorf("%.60s: %v", c.good, err)
			continue
		}
		roundTrip(t, good)
		if _, err := config.Parse("bad", []byte(c.bad)); err == nil {
			t.Errorf("%.60s was accepted", c.bad)
		} else if n := len(faultsOf(t, err)); n != 1 {
			t.Errorf("%.60s: %d faults, want 1: %v", c.bad, n, err)
		}
	}
}

// list returns a field with n items made from item and their number, from 1.
func list(name, item string, n int) string {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf(item, i+1)
	}
	return name + ": [" + strings.Join(items, ", ") + "]"
}

func faultsOf(tb testing.TB, err error) config.Faults {
	tb.Helper()
	var faults config.Faults
	if !errors.As(err, &faults) {
		tb.Fatalf("got %v, want faults", err)
	}
	return faults
}

func TestTooManyFaultsAreCounted(t *testing.T) {
	var text strings.Builder
	for i := range config.MaxFaults + 7 {
		fmt.Fprintf(&text, "x%d: 1\n", i)
	}
	_, err := config.Parse("f", []byte(text.String()))
	faults := faultsOf(t, err)
	want := config.Fault{
		File: "f", Line: config.MaxFaults, Col: 1,
		Message: "and 7 more faults, not listed",
	}
	if len(faults) != config.MaxFaults+1 || faults[config.MaxFaults] != want {
		t.Errorf("got %d faults, the last %v", len(faults), faults[len(faults)-1])
	}
}

func TestLongValuesAreCutInMessages(t *testing.T) {
	long := strings.Repeat("9", 10_000)
	for _, text := range []string{
		"pop: " + long, "memory: " + long, "memory: " + long + "MB", "rules: [{name: a, window: " +
			long + "}]",
		"rules: [{limit: " + long + "}]", "rules: [{limit: 1" + long + "x}]",
		"listen: {udp: " + long + "}",
		"listen: {udp: unix:/" + long + "}", long + ": 1", "rules: [{mode: " + long + "}]",
		"ring: {flush: " + long + "}",
		"pop: *" + long, "pop: &" + long + " a", "pop: !" + long + " a", `ring: {servers: ["h:1 ` +
			long + `"]}`,
		`ring: {servers: ["h:` + long + ` 1"]}`,
	} {
		_, err := config.Parse("f", []byte(text))
		for _, f := range faultsOf(t, err) {
			if len(f.Message) > 300 {
				t.Errorf("%.30s…: a message of %d bytes: %.200s…", text, len(f.Message), f.Message)
			}
		}
	}
}

func TestWarnings(t *testing.T) {
	rule := func(name string, s mitigation.Scope, m mitigation.Mode) mitigation.Rule {
		return mitigation.Rule{Name: name, Scope: s, Mode: m}
	}
	full := config.Default()
	full.StateDir = "/var/lib/headgate"
	full.Ring.Servers = []config.Server{{Address: config.Address{Host: "h", Port: 1}, Weight: 1}}
	full.Gossip.Bind = config.Address{Host: "127.0.0.1", Port: 4293}
	full.Rules = []mitigation.Rule{
		rule("a", mitigation.PoP, mitigation.Enforce), rule("b", mitigation.PoP, mitigation.Off),
		rule("c", mitigation.Node, mitigation.Enforce),
		rule("d", mitigation.PoP, mitigation.Shadow),
	}
	for _, name := range strings.Fields("g h i j k l m") {
		full.Rules = append(full.Rules, rule(name, mitigation.Global, mitigation.Enforce))
	}
	check := func(what string, c config.Config, want ...string) {
		t.Helper()
		if got := config.ScopeWarnings(&c); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %q", what, got)
		}
	}
	const pop = "rules: scope pop counts on this node alone without ring.servers; view=node (a, d)"
	check("ring and gossip", full)
	noRing, noGossip := full, full
	noRing.Ring.Servers = nil
	check("gossip without a ring", noRing, pop)
	noGossip.Gossip.Bind = config.Address{}
	check("a ring without gossip", noGossip,
		"rules: scope global counts over this node's PoP alone without gossip.bind; view=pop (g, "+
			"h, i, j, k and 2 more)")
	noRing.Gossip.Bind = config.Address{}
	check("neither", noRing, pop,
		"rules: scope global counts on this node alone without gossip.bind; view=node (g, h, i, "+
			"j, k and 2 more)")
	check("the built-in configuration", config.Default())
}
