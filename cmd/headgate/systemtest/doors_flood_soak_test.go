//go:build soak && linux && !race

package systemtest

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

// TestDoorsRates floods one door after the other for a minute (HEADGATE_FLOOD_ROUNDS, 20 of 3 s) and
// measures another door meanwhile: its rate in closed loop with 16 questions under way, for a second
// each without a flood, with the same flood at a program that throws it away, and with the flood at
// the door. All of them share the cores of one machine. So the flood comes from a process that has
// what is left of the processor's time (nice 19), and the second figure says what it takes by being
// sent. The ratio that is judged is that of the third to the second, the median of all rounds.
func TestDoorsRates(t *testing.T) {
	rounds := 20
	if n, err := strconv.Atoi(os.Getenv("HEADGATE_FLOOD_ROUNDS")); err == nil {
		rounds = n
	}
	n := startAllDoors(t)
	var table strings.Builder
	fmt.Fprintf(&table, "%-26s %-6s %10s %10s %10s %7s %9s %12s %8s\n", "flood", "asked", "quiet/s", "sink/s", "flooded/s", "ratio", "daemon", "connections", "MiB")
	for _, f := range allFloods() {
		if only := os.Getenv("HEADGATE_FLOOD"); only != "" && !strings.Contains(f.String(), only) {
			continue
		}
		victim := "udp"
		if f.door == "udp" {
			victim = "resp"
		}
		w := n.witness(t, f.door)
		r := n.rates(t, &f, victim, rounds)
		w.asks(t)
		fmt.Fprintf(&table, "%-26s %-6s %10.0f %10.0f %10.0f %7.2f %8.0f%% %12d %8d\n",
			f.String(), victim, r.quiet, r.sink, r.flooded, r.ratio, 100*r.busy, r.connections, n.mostResident())
		if r.ratio < 0.8 {
			t.Errorf("%s: %s is at %.2f of its rate", &f, victim, r.ratio)
		}
	}
	t.Logf("\n%s", &table)
	if most := n.mostResident(); most > floodMemory+floodRoom {
		t.Errorf("%d MiB resident at most, with memory %d MiB", most, floodMemory)
	}
	if said := n.said.String(); strings.Contains(said, "panic") {
		t.Error(said)
	}
}

// figures of one flood: questions a second, the daemon's share of a core under the flood.
type floodRates struct {
	quiet, sink, flooded, ratio, busy float64
	connections                       uint64
}

// rates measures a door beside f at another one.
func (n *doorsNode) rates(t *testing.T, f *flood, victim string, rounds int) (r floodRates) {
	t.Helper()
	sink := startSink(t, f.door)
	var quiet, sunk, flooded, ratios, busy []float64
	for range rounds {
		quiet = append(quiet, n.rate(t, victim))
		var a, b float64
		floodFrom(t, f, sink, func() { a = n.rate(t, victim) })
		r.connections += floodFrom(t, f, n.at[f.door], func() {
			before := n.spent(t)
			b = n.rate(t, victim)
			busy = append(busy, n.spent(t)-before)
		})
		sunk, flooded, ratios = append(sunk, a), append(flooded, b), append(ratios, b/a)
	}
	r.quiet, r.sink, r.flooded, r.ratio, r.busy = median(quiet), median(sunk), median(flooded), median(ratios), median(busy)
	return r
}

// median returns the middle of v, which it sorts.
func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// spent returns the processor time of the daemon so far, in seconds.
func (n *doorsNode) spent(t *testing.T) float64 {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return float64(user+system) / 100
}

// rate asks a door for a second, with 16 questions under way, and returns how many were answered.
func (n *doorsNode) rate(t *testing.T, door string) float64 {
	t.Helper()
	const together = 16
	c, err := dialDoor(door, n.at[door])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	question, answers := strings.Repeat(respAsk, together), "verdict"
	if door == "udp" {
		question, answers = strings.Repeat("check login k\n", together), "allow"
	}
	b := make([]byte, 16<<10)
	asked := 0
	began := time.Now()
	for time.Since(began) < time.Second {
		if _, err := io.WriteString(c, question); err != nil {
			t.Fatal(err)
		}
		for left := together; left > 0; {
			_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
			got, err := c.Read(b)
			if err != nil && door == "udp" {
				break // a datagram was lost
			}
			if err != nil {
				t.Fatal(err)
			}
			found := strings.Count(string(b[:got]), answers)
			left, asked = left-found, asked+found
		}
	}
	return float64(asked) / time.Since(began).Seconds()
}

// child runs one test of this program as a process of its own until the test ends, or stop is called.
func child(t *testing.T, test string, env ...string) (said *edgetest.Log, stop func()) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd, said := exec.Command(self, "-test.run", "^"+test+"$"), &edgetest.Log{}
	cmd.Env, cmd.Stdout = append(os.Environ(), env...), said
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() { _ = in.Close(); _ = cmd.Wait() })
	t.Cleanup(stop)
	return said, stop
}

// wordOf returns the word that a child says behind name.
func wordOf(t *testing.T, said *edgetest.Log, name string) (word string) {
	t.Helper()
	await(t, "a child says "+name, func() bool {
		_, rest, _ := strings.Cut(said.String(), name+" ")
		word, _, _ = strings.Cut(rest, "\n")
		return strings.Contains(rest, "\n")
	})
	return word
}

// floodFrom calls use while another process sends f to that address, and returns how many connections
// it opened.
func floodFrom(t *testing.T, f *flood, at string, use func()) uint64 {
	t.Helper()
	said, stop := child(t, "TestFlooder", "HEADGATE_FLOODER="+f.String(), "HEADGATE_FLOODER_AT="+at)
	wordOf(t, said, "flooding")
	use()
	stop()
	connections, _ := strconv.ParseUint(wordOf(t, said, "connections"), 10, 64)
	return connections
}

// TestFlooder is the process that floods, until its input ends.
func TestFlooder(t *testing.T) {
	name := os.Getenv("HEADGATE_FLOODER")
	if name == "" {
		t.Skip("a part of TestDoorsRates")
	}
	if err := syscall.Setpriority(syscall.PRIO_PROCESS, 0, 19); err != nil {
		t.Fatal(err)
	}
	for _, f := range allFloods() {
		if f.String() == name {
			f.against(os.Getenv("HEADGATE_FLOODER_AT"), func(connections func() uint64) {
				fmt.Println("flooding now")
				_, _ = io.Copy(io.Discard, os.Stdin)
				fmt.Println("connections", connections())
			})
		}
	}
}

// startSink runs a program that reads what comes and throws it away, at the address that is returned.
func startSink(t *testing.T, door string) string {
	t.Helper()
	said, _ := child(t, "TestFloodSink", "HEADGATE_FLOOD_SINK="+door)
	return wordOf(t, said, "at")
}

// TestFloodSink is that program.
func TestFloodSink(t *testing.T) {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	switch os.Getenv("HEADGATE_FLOOD_SINK") {
	case "":
		t.Skip("a part of TestDoorsRates")
	case "udp":
		c, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("at %s\n", c.LocalAddr())
		for b := make([]byte, 64<<10); ; {
			_, _, _ = c.ReadFrom(b)
		}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("at %s\n", ln.Addr())
	for {
		c, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = io.Copy(io.Discard, c)
			_ = c.Close()
		}()
	}
}
