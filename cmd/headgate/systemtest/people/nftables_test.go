//go:build !race

package people

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// network runs programs in a network namespace of a process that does nothing.
type network struct {
	testing.TB
	pid int
}

// newNetwork returns a namespace of its own, or skips the test.
func newNetwork(t testing.TB) network {
	t.Helper()
	for _, program := range []string{"nft", "unshare", "nsenter", "ip", "nc"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is not installed")
		}
	}
	if os.Getuid() != 0 {
		t.Skip("only root has network namespaces")
	}
	cmd := exec.Command("unshare", "-n", "sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	self, _ := os.Readlink("/proc/self/ns/net")
	edgetest.Await(t, "a namespace", edgetest.Patience, func() bool {
		is, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", cmd.Process.Pid))
		return err == nil && is != self
	})
	return network{t, cmd.Process.Pid}
}

// command returns a program in the namespace.
func (n network) command(line string) *exec.Cmd {
	args := append([]string{"-t", fmt.Sprint(n.pid), "-n"}, strings.Fields(line)...)
	return exec.Command("nsenter", args...)
}

// run runs it to the end.
func (n network) run(line string) string {
	n.Helper()
	out, err := n.command(line).CombinedOutput()
	if err != nil {
		n.Fatalf("%s: %v: %s", line, err, out)
	}
	return string(out)
}

// TestNftables: the sets of nftables follow the blocks of a daemon, packets of a blocked address
// are dropped, and elements stay when the export ends.
func TestNftables(t *testing.T) {
	edge, client := newNetwork(t), newNetwork(t)
	dir := t.TempDir()
	file, socket := filepath.Join(dir, "headgate.yaml"), "unix:"+filepath.Join(dir, "admin")
	if err := os.WriteFile(file, []byte(`memory: 16MiB
listen: {udp: "127.0.0.1:0", http: [], admin: ["127.0.0.1:0", "`+socket+`"]}
rules: [{name: site, limit: 5, window: 1m}]
`), 0o600); err != nil {
		t.Fatal(err)
	}
	n := &systemtest.Node{TB: t, ID: "blocks"}
	n.Launch(exec.Command(systemtest.Binary(t), "serve", "-c", file))
	t.Cleanup(n.Stop)
	n.AwaitDoors()
	headgate := func(line string) {
		t.Helper()
		args := append(strings.Fields(line), "--admin", socket)
		if out, err := exec.Command(systemtest.Binary(t), args...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
	}
	holds := func(set, element string, want bool) {
		t.Helper()
		edgetest.Await(t, fmt.Sprint(set, element, want), edgetest.Patience, func() bool {
			out, _ := edge.command("nft list set inet headgate " + set).CombinedOutput()
			return strings.Contains(string(out), element+" timeout") == want
		})
	}
	edge.run(fmt.Sprintf("ip link add out type veth peer name in netns %d", client.pid))
	edge.run("ip addr add 203.0.113.1/24 dev out")
	edge.run("ip link set out up")
	client.run("ip addr add 203.0.113.9/24 dev in")
	client.run("ip link set in up")

	headgate("block site 203.0.113.9 --ttl 1h")
	headgate("block site 203.0.113.1 --ttl 1h") // an address of this machine
	headgate("block site 192.0.2.5 --ttl 1h")
	export := edge.command(systemtest.Binary(t) + " export nftables --resync 2s --never " +
		"192.0.2.0/24 --admin " + socket)
	said := &edgetest.Log{}
	export.Stderr = said
	if err := export.Start(); err != nil {
		t.Fatal(err)
	}
	holds("block4", "203.0.113.9", true)
	_ = client.command("nc -z -w 1 203.0.113.1 9").Run() // there is no answer
	if out := edge.run("nft list chain inet headgate blocked"); strings.Contains(out,
		"@block4 counter packets 0") || strings.Contains(out, "203.0.113.1 ") {
		t.Error(out)
	}
	headgate("unblock site 203.0.113.9")
	holds("block4", "203.0.113.9", false)
	if err := client.command("nc -z -w 5 203.0.113.1 9").Run(); err == nil {
		t.Error("a port is open")
	}
	headgate("block site 198.51.100.0/24 --ttl 1h")
	headgate("block site 198.51.100.128/25 --ttl 1h")
	headgate("block site 2001:db8::9 --ttl 1h")
	holds("net4", "198.51.100.0/24", true)
	holds("block6", "2001:db8::9", true)
	edge.run("nft add element inet headgate block4 { 192.0.2.77 timeout 1h }")
	holds("block4", "192.0.2.77", false)
	headgate("mode shadow site")
	holds("net4", "198.51.100.0/24", false)
	headgate("mode enforce site")
	holds("net4", "198.51.100.0/24", true)
	if out := edge.run("nft list table inet headgate"); strings.Contains(out, "192.0.2.5") ||
		strings.Contains(out, "203.0.113.1 ") || strings.Contains(out, "100.128") {
		t.Error(out)
	}
	_ = export.Process.Signal(syscall.SIGTERM)
	if err := export.Wait(); err != nil || !strings.Contains(said.String(), "never dropped") {
		t.Errorf("%v: %s", err, said)
	}
	holds("net4", "198.51.100.0/24", true)
}
