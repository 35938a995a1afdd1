//go:build soak && linux && !race

package life

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// What a door is asked beside, besides the program that spins all the time. No server gives back
// what the flooder itself takes: the sending of datagrams, with which the kernel charges it, is
// that of unread, and that of sunk is what any server takes that looks at the flood.
const (
	quiet   = "nothing"
	unread  = "socket without a reader"     // datagrams only: a stream would end the flood
	sunk    = "program that throws it away" // it reads all there is
	flooded = "flooded door"
)

// floodBeside are the rows of a flood of a door.
func floodBeside(door string) []string {
	if door == "udp" {
		return []string{quiet, unread, sunk, flooded}
	}
	return []string{quiet, sunk, flooded}
}

// floodRow is what was measured beside one of them: questions a second, milliseconds to sixteen
// answers, and cores in use.
type floodRow struct{ rate, p99, asker, daemon, flooder, sink []float64 }

// floodRates are the figures of one flood.
type floodRates struct {
	rows        map[string]*floodRow
	ratios      []float64 // of the rates beside the door and the sink, round by round
	connections uint64
}

// rates measures a door beside f at another one, whose witness asks once a round: it is never idle
// for long.
func (n *doorsNode) rates(
	t *testing.T, f *flood, victim string, rounds int, w *witness,
) *floodRates {
	t.Helper()
	r := &floodRates{rows: map[string]*floodRow{}}
	sinks := map[string]childOf{sunk: child(t, "TestFloodSink", "HEADGATE_FLOOD_SINK="+f.door)}
	if f.door == "udp" {
		sinks[unread] = child(t, "TestFloodSink", "HEADGATE_FLOOD_SINK="+unread)
	}
	for range rounds {
		for _, beside := range floodBeside(f.door) {
			row := r.rows[beside]
			if row == nil {
				row = &floodRow{}
				r.rows[beside] = row
			}
			measure := func(flooder int) { n.measure(t, victim, row, flooder, sinks[beside].pid) }
			switch beside {
			case quiet:
				measure(0)
			case flooded:
				r.connections += floodFrom(t, f, n.at[f.door], measure)
			default:
				floodFrom(t, f, wordOf(t, sinks[beside].said, "at"), measure)
			}
		}
		w.asks(t)
		last := len(r.rows[sunk].rate) - 1
		r.ratios = append(r.ratios, r.rows[flooded].rate[last]/r.rows[sunk].rate[last])
	}
	for _, sink := range sinks {
		sink.stop()
	}
	return r
}

// measure adds a second of questions to row, and the processor time of all that take part.
func (n *doorsNode) measure(t *testing.T, victim string, row *floodRow, flooder, sink int) {
	t.Helper()
	of := map[*[]float64]int{
		&row.asker: os.Getpid(), &row.daemon: n.Cmd.Process.Pid,
		&row.flooder: flooder, &row.sink: sink,
	}
	before := map[*[]float64]float64{}
	for v, pid := range of {
		before[v] = spent(t, pid)
	}
	rate, p99, took := n.rate(t, victim)
	row.rate, row.p99 = append(row.rate, rate), append(row.p99, p99)
	for v, pid := range of {
		*v = append(*v, (spent(t, pid)-before[v])/took)
	}
}

// spent returns the processor time of a process so far, in seconds; 0 is none.
func spent(t *testing.T, pid int) float64 {
	t.Helper()
	if pid == 0 {
		return 0
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return float64(user+system) / 100
}

// floodHeads are the heads of the table: cores in use are those of who asks, of the daemon, of the
// flooder and of the program in the daemon's place.
func floodHeads() string {
	return fmt.Sprintf("%-26s %-5s beside %-28s %9s %8s %7s %7s %6s %7s %8s %6s %5s\n", "flood",
		"asked", "", "rate/s", "of quiet", "of sink", "p99 ms", "asker", "daemon",
		"flooder", "sink", "MiB")
}

// show appends the rows of f to a table.
func (r *floodRates) show(table *strings.Builder, f *flood, victim string, resident int) {
	none := median(r.rows[quiet].rate)
	for _, beside := range floodBeside(f.door) {
		row, ratio := r.rows[beside], ""
		rate := median(row.rate)
		if beside == flooded {
			ratio = fmt.Sprintf("%.2f", median(r.ratios))
		}
		fmt.Fprintf(table, "%-26s %-5s beside %-28s %9.0f %8.2f %7s %7.2f %6.2f %7.2f %8.2f "+
			"%6.2f %5d\n", f, victim, beside, rate, rate/none, ratio,
			median(row.p99), median(row.asker), median(row.daemon), median(row.flooder),
			median(row.sink), resident)
	}
	fmt.Fprintf(table, "%-26s connections opened: %d\n", f, r.connections)
}

// spin uses every core until the input ends.
func spin() {
	var ended atomic.Bool
	for range runtime.NumCPU() {
		go func() {
			for !ended.Load() { //nolint:revive // it is to use up time
			}
		}()
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	ended.Store(true)
}

// lowest fails the test unless all threads of this process are of the scheduler's class idle: they
// run where nobody else would, and whoever wakes up takes their core.
func lowest(t *testing.T) {
	t.Helper()
	const idle = "5" // SCHED_IDLE, in proc_pid_stat(5) the field policy
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		stat, err := os.ReadFile("/proc/self/task/" + thread.Name() + "/stat")
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		if policy := strings.Fields(rest)[38]; policy != idle {
			t.Fatalf("thread %s is of class %s", thread.Name(), policy)
		}
	}
}
