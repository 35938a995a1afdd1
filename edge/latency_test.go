package edge

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
	"unsafe"
)

// TestLatency: a batch falls into the first bucket that holds it, and the sum is in seconds.
func TestLatency(t *testing.T) {
	t.Parallel()
	var l latency
	var sum latencySum
	for _, took := range []time.Duration{0, 20 * time.Microsecond, 21 * time.Microsecond, 25 * time.Millisecond, time.Second} {
		l.note(took)
	}
	sum.add(&l)
	sum.add(&l)
	count, buckets := sum.cumulative()
	if got := fmt.Sprint(count, buckets, sum.sum); got != "10 map[2e-05:4 0.0001:6 0.0005:6 0.0025:6 0.025:8] 2.050082s" {
		t.Error(got)
	}
}

// TestLatencyOfDoors: one batch in latencyEvery is timed, at either door, and shows in the metrics.
func TestLatencyOfDoors(t *testing.T) {
	t.Parallel()
	e := newTestEdge(t, 1<<20, shedRule)
	udp, web := startUDP(t, e, "127.0.0.1:0"), openDoor(t, edgeJudge{e, []*Lane{e.Lane(0)}}, testLimits())
	c := dialUDP(t, udp)
	for range 3*latencyEvery + 1 { // a batch is timed when it is answered: the next answer says that it was
		askUDP(t, c, "check shed k")
	}
	stream := web.dial(t)
	in := bufio.NewReader(stream)
	for range 2 * latencyEvery {
		if _, err := io.WriteString(stream, "GET /v1/check?rule=shed&key=k HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		readReply(t, in)
	}
	a := NewAdmin(e, AdminOptions{Local: true, Doors: Doors{UDP: []*UDP{udp}, HTTP: []*HTTP{web.HTTP}}})
	got := strings.Join(scrape(t, a), "\n")
	for _, want := range []string{`headgate_decision_duration_seconds_bucket{le="+Inf"} 5`, "headgate_decision_duration_seconds_count 5"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

// TestStatsKeepToTheirLines: two readers do not write to one cache line.
func TestStatsKeepToTheirLines(t *testing.T) {
	t.Parallel()
	if size := unsafe.Sizeof(udpStats{}); size%128 != 0 {
		t.Errorf("%d bytes", size)
	}
}

func BenchmarkLatencyNote(b *testing.B) {
	var l latency
	for b.Loop() {
		l.note(30 * time.Microsecond)
	}
}
