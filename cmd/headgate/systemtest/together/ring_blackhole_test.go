//go:build soak && !race

package together

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/clitest"
	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
)

// TestRingSoakBlackhole drops all packets to one server, then to all, in a network namespace of its
// own: nothing refuses and nothing answers, as when a cable is pulled.
func TestRingSoakBlackhole(t *testing.T) {
	if os.Getenv(systemtest.InNamespace) == "" {
		again(t)
		return
	}
	command(t, "ip", "link", "set", "lo", "up")
	command(t, "nft", "add table inet ring; add chain inet ring cut { type filter hook input "+
		"priority 0 ; }")
	servers := startRingServers(t, 3)
	l := openLab(t, servers, systemtest.AddressesOf(servers))
	l.awaitCalm()
	before := weigh(t, l.Nodes)
	sever(t, servers[0])
	l.awaitLost("blackhole of one")
	systemtest.Hold(t, 10*time.Second)
	command(t, "nft", "flush chain inet ring cut")
	l.awaitRecovered("the hole is closed")
	systemtest.Hold(t, 2*time.Second)
	l.check("after the blackhole of one")
	for _, s := range servers {
		sever(t, s)
	}
	l.awaitViews("blackhole of all: all keys have view=node", lostWithin,
		func(_, pop int) bool { return pop == 0 })
	systemtest.Hold(t, 10*time.Second)
	compareWeights(t, before, weigh(t, l.Nodes))
	command(t, "nft", "flush chain inet ring cut")
	l.awaitRecovered("the holes are closed")
	systemtest.Hold(t, 2*time.Second)
	l.Stop()
	l.check("after the blackhole of all")
	l.logWaits()
	compareWeights(t, before, weigh(t, l.Nodes))
}

// again runs the test in a network namespace of its own, where nothing it does to packets touches
// others.
func again(t *testing.T) {
	t.Helper()
	unshare, nft := clitest.ProgramPath(t, "unshare"), clitest.ProgramPath(t, "nft")
	if out, err := exec.CommandContext(t.Context(), unshare, "-rn", nft,
		"add table inet ring").CombinedOutput(); err != nil {
		t.Skipf("nft in a network namespace: %v: %s", err, out)
	}
	//nolint:gosec // this test itself
	self := exec.CommandContext(t.Context(), unshare, "-rn", os.Args[0], "-test.run=^"+t.Name()+"$",
		"-test.v")
	self.Env = append(os.Environ(), systemtest.InNamespace+"=1")
	out, err := self.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "  ") {
			t.Log(strings.TrimRight(line, "\n"))
		}
	}
	if err != nil {
		t.Errorf("in the namespace: %v", err)
	}
}

// sever drops all packets to a server, also those of connections that are open.
func sever(t *testing.T, s *systemtest.Memcached) {
	t.Helper()
	command(t, "nft", fmt.Sprintf("add rule inet ring cut tcp dport %d drop", s.Port))
}

func command(t testing.TB, name string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), clitest.ProgramPath(t, name),
		args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
}
