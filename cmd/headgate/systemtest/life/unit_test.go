//go:build !race

package life

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/clitest"
	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

const (
	unitFile   = "../../../../deploy/headgate.service"
	bridgeFile = "../../../../deploy/headgate-nftables.service"
)

// mostExposure is how exposed a service may be that needs the network, as systemd reckons: 0 to 10.
const mostExposure = 1.5

// TestUnit has systemd read deploy/headgate.service, with a program in it that every machine has;
// its state directory is the one in the packages' configuration.
func TestUnit(t *testing.T) {
	t.Parallel()
	analyze := clitest.ProgramPath(t, "systemd-analyze")
	unit := string(readFile(t, unitFile))
	text := strings.ReplaceAll(unit, "/usr/bin/headgate ", "/bin/true ")
	for _, unit := range []string{text, strings.ReplaceAll(string(readFile(t, bridgeFile)),
		"/usr/bin/headgate ", "/bin/true ")} {
		if said := verifyUnit(t, analyze, []byte(unit), nil); said != "" {
			t.Errorf("systemd-analyze says:\n%s", said)
		}
	}
	if said := verifyUnit(t, analyze, []byte(text+"\n[Service]\nStateDirectry=x\n"),
		nil); !strings.Contains(said, "StateDirectry") {
		t.Errorf("a fault is not found: %q", said)
	}
	if !strings.Contains(unit, "\nStateDirectory=headgate\n") {
		t.Error("no StateDirectory in the unit")
	}
	if c, err := config.Read("../../../../deploy/package/headgate.yaml"); err != nil ||
		c.StateDir != "/var/lib/headgate" {
		t.Errorf("%q, %v", c.StateDir, err)
	}
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestUnitIsHardened: the daemon needs its sockets and its memory, and gets no more.
func TestUnitIsHardened(t *testing.T) {
	t.Parallel()
	analyze := clitest.ProgramPath(t, "systemd-analyze")
	if most := exposure(t, analyze, readFile(t, unitFile)); most > mostExposure {
		t.Errorf("exposure %.1f, want at most %.1f", most, mostExposure)
	}
	if open := exposure(t, analyze,
		[]byte("[Service]\nExecStart=/bin/true\n")); open <= mostExposure {
		t.Errorf("an open unit has %.1f", open)
	}
}

func exposure(t *testing.T, analyze string, unit []byte) float64 {
	t.Helper()
	file := filepath.Join(t.TempDir(), "headgate.service")
	if err := os.WriteFile(file, unit, 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := exec.CommandContext(t.Context(), analyze, "security", "--offline=true",
		"--no-pager", file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	level := regexp.MustCompile(`exposure level for headgate.service: ([0-9.]+)`).FindSubmatch(said)
	if level == nil {
		t.Fatalf("no level in %s", said)
	}
	f, err := strconv.ParseFloat(string(level[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestUnitAllowsWhatIsCalled runs a daemon with a ring and a state file, and compares each of its
// system calls with the unit's filter: one that is missing there would fail on an operator's
// machine only.
func TestUnitAllowsWhatIsCalled(t *testing.T) {
	analyze, strace := clitest.ProgramPath(t, "systemd-analyze"), clitest.ProgramPath(t, "strace")
	trace := filepath.Join(t.TempDir(), "trace")
	n := startTraced(t, strace, trace)
	for range 3 {
		n.check("block", "guesser")
	}
	if err := n.Cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	edgetest.Await(t, "it reloads", edgetest.Patience,
		func() bool { return strings.Contains(n.Said.String(), "reloaded") })
	edgetest.Await(t, "it writes its state", edgetest.Patience, func() bool {
		_, err := os.Stat(filepath.Join(n.dir, "headgate.state"))
		return err == nil
	})
	n.Stop()
	n.Ended = true
	allowed, calls := allowedCalls(t, analyze), tracedCalls(t, trace)
	if !calls["recvmmsg"] || !calls["fsync"] || !calls["accept4"] {
		t.Errorf("not the calls of a daemon: %v", calls)
	}
	for call := range calls {
		if !allowed[call] {
			t.Errorf("%s is called, and not allowed", call)
		}
	}
	if allowed["reboot"] || allowed["setuid"] || allowed["ptrace"] {
		t.Errorf("more is allowed than is needed")
	}
}

// startTraced runs a daemon with a door of each kind, of which strace writes down the system calls.
func startTraced(t *testing.T, strace, trace string) *stateNode {
	t.Helper()
	n := &stateNode{
		Node: &systemtest.Node{TB: t, ID: "edge"},
		file: filepath.Join(t.TempDir(), "headgate.yaml"), dir: t.TempDir(),
	}
	socket := filepath.Join(t.TempDir(), "http.sock")
	conf := fmt.Sprintf("node: edge\nmemory: 1MiB\nstate_dir: %q\nring: {servers: [%q]}\ngossip: "+
		"{bind: %q}\n"+
		"listen: {udp: %q, http: [\"127.0.0.1:0\", %q], admin: %q}\n%s",
		n.dir, systemtest.Address(systemtest.StartMemcached(t).Port),
		systemtest.Address(systemtest.Port(t)), systemtest.Address(systemtest.Port(t)),
		"unix:"+socket, systemtest.Address(systemtest.Port(t)), stateRules)
	if err := os.WriteFile(n.file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	// -D: the daemon is the child, and strace its
	n.Launch(exec.Command(strace, "-D", "-f", "-qq", "-c", "-o", trace, systemtest.Binary(t),
		"serve", "-c", n.file))
	t.Cleanup(n.Stop)
	n.AwaitDoors()
	n.Metrics("headgate_build_info") // a scrape reads much of /proc
	return n
}

// tracedCalls returns the system calls in strace's summary.
func tracedCalls(t *testing.T, trace string) map[string]bool {
	t.Helper()
	calls := map[string]bool{}
	for line := range strings.Lines(string(readFile(t, trace))) {
		if fields := strings.Fields(line); len(fields) > 4 && strings.Trim(fields[0], "%-") != "" &&
			fields[len(fields)-1] != "total" {
			calls[fields[len(fields)-1]] = true
		}
	}
	return calls
}

// allowedCalls returns the system calls that the unit's filter lets through.
func allowedCalls(t *testing.T, analyze string) map[string]bool {
	t.Helper()
	allowed := map[string]bool{}
	for line := range strings.Lines(string(readFile(t, unitFile))) {
		names, ok := strings.CutPrefix(strings.TrimSpace(line), "SystemCallFilter=")
		names, not := strings.CutPrefix(names, "~")
		for _, name := range strings.Fields(names) {
			for _, call := range callsOf(t, analyze, name) {
				allowed[call] = ok && !not
			}
		}
	}
	return allowed
}

// callsOf returns the system calls of a set, such as @system-service, or the one call that name is.
func callsOf(t *testing.T, analyze, name string) (calls []string) {
	t.Helper()
	if !strings.HasPrefix(name, "@") {
		return []string{name}
	}
	said, err := exec.CommandContext(t.Context(), analyze, "syscall-filter",
		"--no-pager", name).Output()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for line := range strings.Lines(string(said)) {
		if line = strings.TrimSpace(line); line != name && line != "" && line[0] != '#' {
			calls = append(calls, callsOf(t, analyze, line)...)
		}
	}
	return calls
}
