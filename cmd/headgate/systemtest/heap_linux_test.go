//go:build !race

package systemtest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestHeapUnderReading checks that a daemon whose lists and metrics are read again and again stays
// within 64 MiB of `memory`: the garbage of its answers is collected before it is as large as the
// tables.
func TestHeapUnderReading(t *testing.T) {
	const memory = 64
	n := startDaemon(t, nil, "edge", fmt.Sprintf("memory: %dMiB\nrules: [{name: login, limit: 1, "+
		"window: 10m, action: block, block_for: 1h}]\n", memory))
	n.fillFlags(2000)
	for range 100 {
		for _, path := range []string{"/v1/mitigations?n=1000", "/v1/top?n=1000", "/metrics"} {
			n.read(path)
		}
	}
	if most := n.mostResident(); most > memory+64 {
		t.Errorf("%d MiB resident at most, with memory %d MiB", most, memory)
	}
}

// fillFlags has so many keys blocked.
func (n *ringNode) fillFlags(keys int) {
	n.Helper()
	c, err := net.Dial("udp", n.udp)
	if err != nil {
		n.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	answer := make([]byte, 64<<10)
	for key := range keys {
		if _, err := fmt.Fprintf(c, "check login key-%d\ncheck login key-%d\n", key,
			key); err != nil {
			n.Fatal(err)
		}
		if _, err := c.Read(answer); err != nil {
			n.Fatal(err)
		}
	}
}

// read asks the admin listener for path and reads the answer to its end.
func (n *ringNode) read(path string) {
	n.Helper()
	r, err := http.Get("http://" + n.admin + path)
	if err != nil {
		n.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	if _, err := io.Copy(io.Discard, r.Body); err != nil || r.StatusCode != http.StatusOK {
		n.Fatalf("%s: %s, %v", path, r.Status, err)
	}
}

// mostResident returns how much memory the daemon had at most, in MiB.
func (n *ringNode) mostResident() int {
	n.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.cmd.Process.Pid))
	if err != nil {
		n.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		n.Fatal(err)
	}
	return kib >> 10
}
