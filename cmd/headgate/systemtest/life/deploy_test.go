//go:build !race

package life

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/clitest"
	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

const (
	dropIn       = "../../../../deploy/memcached/headgate.conf"
	debianUnit   = "/lib/systemd/system/memcached.service"
	deployedPort = "11211"
)

// TestDropInIsAUnit has systemd read Debian's unit together with the drop-in, and report every line
// that it does not understand.
func TestDropInIsAUnit(t *testing.T) {
	t.Parallel()
	analyze := clitest.ProgramPath(t, "systemd-analyze")
	unit, err := os.ReadFile(debianUnit)
	if err != nil {
		t.Skip("memcached's unit is not installed")
	}
	conf, err := os.ReadFile(dropIn)
	if err != nil {
		t.Fatal(err)
	}
	if said := verifyUnit(t, analyze, unit, conf); said != "" {
		t.Errorf("systemd-analyze says:\n%s", said)
	}
	if said := verifyUnit(t, analyze, unit,
		append(conf, "MemoryMx=1\n"...)); !strings.Contains(said, "MemoryMx") {
		t.Errorf("a fault is not found: %q", said)
	}
}

// verifyUnit returns the faults that systemd finds in the unit and its drop-in.
func verifyUnit(t *testing.T, analyze string, unit, conf []byte) (faults string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "memcached.service")
	if err := os.Mkdir(file+".d", 0o700); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string][]byte{file: unit, file + ".d/headgate.conf": conf} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	said, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no",
		file).CombinedOutput()
	// other units of the machine are not ours to mend
	for line := range strings.Lines(string(said)) {
		if strings.Contains(line, dir) || strings.Contains(line, "memcached") {
			faults += line
		}
	}
	if err != nil && faults == "" {
		t.Fatalf("systemd-analyze: %v: %s", err, said)
	}
	return faults
}

// TestDropInRuns starts memcached as the drop-in does, on another port: it counts, and does nothing
// else for anybody.
func TestDropInRuns(t *testing.T) {
	program, port := clitest.ProgramPath(t, "memcached"), systemtest.Port(t)
	args := dropInArguments(t)
	args[slices.Index(args, deployedPort)] = fmt.Sprint(port)
	if os.Geteuid() == 0 {
		args = append(args, "-u", "nobody")
	}
	cmd := exec.Command(program, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // that it was killed
	})
	edgetest.Await(t, "memcached takes connections", edgetest.Patience, func() bool {
		conn, err := net.Dial("tcp", systemtest.Address(port))
		return err == nil && conn.Close() == nil
	})
	for _, c := range []struct{ asked, want string }{
		{"ma hg:one N60 J5 D5 v", "VA 1\r\n5\r\n"},
		{"flush_all", "CLIENT_ERROR flush_all not allowed\r\n"},
		{"lru_crawler metadump all", "ERROR metadump not allowed\r\n"},
		{"stats cachedump 1 1", "CLIENT_ERROR stats cachedump not allowed\r\n"},
		{"watch", "CLIENT_ERROR watch commands not allowed\r\n"},
	} {
		if got := systemtest.TellMemcached(t, port, c.asked); got != c.want {
			t.Errorf("%s: %q, want %q", c.asked, got, c.want)
		}
	}
	settings := systemtest.TellMemcached(t, port, "stats settings")
	for _, want := range []string{
		"udpport 0", "maxbytes 67108864", "inter 127.0.0.1",
		"evictions on",
	} {
		if !strings.Contains(settings, "STAT "+want+"\r\n") {
			t.Errorf("not %s in %s", want, settings)
		}
	}
}

// dropInArguments returns the arguments that the drop-in gives to memcached.
func dropInArguments(t *testing.T) []string {
	t.Helper()
	conf, err := os.ReadFile(dropIn)
	if err != nil {
		t.Fatal(err)
	}
	var args []string
	for line := range strings.Lines(string(conf)) {
		if command, ok := strings.CutPrefix(line, "ExecStart=/"); ok {
			args = strings.Fields(command)[1:]
		}
	}
	if !slices.Contains(args, deployedPort) {
		t.Fatalf("no port %s in %q", deployedPort, args)
	}
	return args
}
