//go:build soak && linux && !race

package life

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
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// TestDoorsRates floods one door after the other (HEADGATE_FLOOD_ROUNDS rounds, 20 unless told) and
// measures another door meanwhile: its rate in closed loop with 16 questions under way, for a
// second beside each of floodBeside. All of them share the cores of one machine. So the flood comes
// from a process that has what is left of the processor's time (SCHED_IDLE), and the same flood at
// a program that throws it away says what it takes by being sent. The ratio that is judged is that
// of the rate beside the flood at the door to the rate beside that program, the median of all
// rounds.
//
// Another process of that class spins all the time: a virtual core that halts takes long to wake
// up, so that questions without it are answered up to half faster beside any load than beside none.
func TestDoorsRates(t *testing.T) {
	rounds := 20
	if n, err := strconv.Atoi(os.Getenv("HEADGATE_FLOOD_ROUNDS")); err == nil {
		rounds = n
	}
	n := startAllDoors(t)
	wordOf(t, child(t, flooder, "HEADGATE_FLOODER="+spinning).said, "flooding")
	var table strings.Builder
	table.WriteString(floodHeads())
	for _, f := range allFloods() {
		if only := os.Getenv("HEADGATE_FLOOD"); only != "" && !strings.Contains(f.String(), only) {
			continue
		}
		victim := "udp"
		if f.door == "udp" {
			victim = "resp"
		}
		w := n.witness(t, f.door)
		r := n.rates(t, &f, victim, rounds, w)
		r.show(&table, &f, victim, n.MostResident())
		if ratio := median(r.ratios); ratio < 0.8 {
			t.Errorf("%s: %s is at %.2f of its rate", &f, victim, ratio)
		}
	}
	t.Logf("\n%s", &table)
	if most := n.MostResident(); most > floodMemory+floodRoom {
		t.Errorf("%d MiB resident at most, with memory %d MiB", most, floodMemory)
	}
	if said := n.Said.String(); strings.Contains(said, "panic") {
		t.Error(said)
	}
}

// median returns the middle of v, which it sorts.
func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// rate asks a door for a second, with 16 questions under way, and returns how many a second were
// answered, the milliseconds that 99 of 100 times sixteen answers took at most, and the seconds of
// it all.
func (n *doorsNode) rate(t *testing.T, door string) (rate, p99, took float64) {
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
	asked, turns := 0, []float64{}
	began := time.Now()
	for time.Since(began) < time.Second {
		sent := time.Now()
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
		turns = append(turns, float64(time.Since(sent).Microseconds())/1000)
	}
	took = time.Since(began).Seconds()
	slices.Sort(turns)
	return float64(asked) / took, turns[len(turns)*99/100], took
}

// childOf is a test of this program that runs as a process of its own.
type childOf struct {
	said *edgetest.Log
	pid  int
	stop func()
}

// child runs one test of this program as a process of its own until the test ends, or stop is
// called.
func child(t *testing.T, test string, env ...string) childOf {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{self, "-test.run", "^" + test + "$"}
	if test == flooder {
		// A process that lowers its own priority lowers that of one thread of many.
		args = append([]string{"chrt", "--idle", "0"}, args...)
	}
	cmd, said := exec.Command(args[0], args[1:]...), &edgetest.Log{} //nolint:gosec // this program
	cmd.Env, cmd.Stdout = append(os.Environ(), env...), said
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop := sync.OnceFunc(func() { _ = in.Close(); _ = cmd.Wait() })
	t.Cleanup(stop)
	return childOf{said, cmd.Process.Pid, stop}
}

// wordOf returns the word that a child says behind name.
func wordOf(t *testing.T, said *edgetest.Log, name string) (word string) {
	t.Helper()
	systemtest.Await(t, "a child says "+name, func() bool {
		_, rest, _ := strings.Cut(said.String(), name+" ")
		word, _, _ = strings.Cut(rest, "\n")
		return strings.Contains(rest, "\n")
	})
	return word
}

// floodFrom calls use while another process, of that id, sends f to that address, and returns how
// many connections it opened.
func floodFrom(t *testing.T, f *flood, at string, use func(pid int)) uint64 {
	t.Helper()
	c := child(t, flooder, "HEADGATE_FLOODER="+f.String(), "HEADGATE_FLOODER_AT="+at)
	wordOf(t, c.said, "flooding")
	use(c.pid)
	c.stop()
	connections, _ := strconv.ParseUint(wordOf(t, c.said, "connections"), 10, 64)
	return connections
}

// flooder is the name of the next test, and spinning of what it does other than flooding.
const flooder, spinning = "TestFlooder", "spinning"

// TestFlooder is the process that floods, until its input ends.
func TestFlooder(t *testing.T) {
	name := os.Getenv("HEADGATE_FLOODER")
	if name == "" {
		t.Skip("a part of TestDoorsRates")
	}
	lowest(t)
	if name == spinning {
		fmt.Println("flooding now")
		spin()
		fmt.Println("connections 0")
		return
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

// TestFloodSink is the program that throws away what comes, or leaves it unread.
func TestFloodSink(t *testing.T) {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	switch os.Getenv("HEADGATE_FLOOD_SINK") {
	case "":
		t.Skip("a part of TestDoorsRates")
	case unread:
		c, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("at %s\n", c.LocalAddr())
		select {}
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
