//go:build !race

package life

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
)

// TestMemoryOfSets: with a set of a million networks a daemon stays within its memory, the set and
// 64 MiB, and within the set once more while reloads change it. A reload that changes nothing takes
// nothing.
func TestMemoryOfSets(t *testing.T) {
	const memory, rest, networks = 64, 64, 1_000_000
	file := filepath.Join(t.TempDir(), "networks.txt")
	writeNetworks(t, file, networks, 0)
	n := systemtest.StartDaemon(t, nil, "sets",
		fmt.Sprintf("memory: %dMiB\nsets: {bad: {cidr_file: %s}}\n"+
			"policies: [{name: bad, match: {client: \"@bad\"}, deny: 403}]\n", memory, file))
	size := n.Metrics("headgate_sets_bytes")["headgate_sets_bytes"]
	if size != networks*12 {
		t.Errorf("the set takes %v bytes, want 12 a network", size)
	}
	set := int(size) >> 20
	for range 5 {
		n.Reload()
	}
	unchanged := n.MostResident()
	if unchanged > memory+set+rest {
		t.Errorf("%d MiB resident at most after reloads that change nothing, with memory %d MiB "+
			"and a set of %d MiB", unchanged, memory, set)
	}
	for i := range 5 {
		writeNetworks(t, file, networks, i+1)
		n.Reload()
	}
	changed := n.MostResident()
	t.Logf("%d MiB resident at most, %d MiB with reloads that change the set; memory %d MiB, set "+
		"%d MiB", unchanged, changed, memory, set)
	if changed > memory+2*set+rest {
		t.Errorf("%d MiB resident at most while reloads change the set, with memory %d MiB and a "+
			"set of %d MiB", changed, memory, set)
	}
}

// writeNetworks writes so many networks of one address each, of which no two touch, from the
// shift-th on.
func writeNetworks(t *testing.T, file string, networks, shift int) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	for i := range networks {
		a := 16<<24 + 2*i + shift
		fmt.Fprintf(w, "%d.%d.%d.%d\n", a>>24, a>>16&255, a>>8&255, a&255)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
