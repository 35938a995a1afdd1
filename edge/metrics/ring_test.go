package metrics_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/metrics"
	"github.com/headgate-dev/headgate/edge/pop"
	"github.com/headgate-dev/headgate/edge/pop/poptest"
	"github.com/headgate-dev/headgate/edge/ring"
	"github.com/headgate-dev/headgate/edge/ring/ringtest"
	"github.com/headgate-dev/headgate/window"
)

// ringMetricsWant are the samples after the exchanges of TestRingMetrics.
const ringMetricsWant = `headgate_ring_breaker_opened_total{server="/run/mc.sock"} 2
headgate_ring_breaker_opened_total{server="192.0.2.1:11211"} 0
headgate_ring_clock_agreed 1
headgate_ring_clock_offset_seconds 0
headgate_ring_clock_skew_seconds 0
headgate_ring_deferred_keys_total 0
headgate_ring_dropped_cost_total 3
headgate_ring_early_exchanges_total 0
headgate_ring_early_postponed_total 0
headgate_ring_flush_duration_seconds_sum 0.25
headgate_ring_flush_duration_seconds_count 31
headgate_ring_implausible_total 12
headgate_ring_nodes 1
headgate_ring_notices_dropped_total 3
headgate_ring_notices_total{direction="received"} 2
headgate_ring_notices_total{direction="sent"} 1
headgate_ring_operations_total{result="cancelled",server="/run/mc.sock"} 0
headgate_ring_operations_total{result="cancelled",server="192.0.2.1:11211"} 0
headgate_ring_operations_total{result="connection",server="/run/mc.sock"} 0
headgate_ring_operations_total{result="connection",server="192.0.2.1:11211"} 0
headgate_ring_operations_total{result="counter",server="/run/mc.sock"} 0
headgate_ring_operations_total{result="counter",server="192.0.2.1:11211"} 0
headgate_ring_operations_total{result="down",server="/run/mc.sock"} 40
headgate_ring_operations_total{result="down",server="192.0.2.1:11211"} 0
headgate_ring_operations_total{result="late",server="/run/mc.sock"} 0
headgate_ring_operations_total{result="late",server="192.0.2.1:11211"} 0
headgate_ring_operations_total{result="ok",server="/run/mc.sock"} 3
headgate_ring_operations_total{result="ok",server="192.0.2.1:11211"} 100
headgate_ring_operations_total{result="reply",server="/run/mc.sock"} 0
headgate_ring_operations_total{result="reply",server="192.0.2.1:11211"} 0
headgate_ring_operations_total{result="server",server="/run/mc.sock"} 0
headgate_ring_operations_total{result="server",server="192.0.2.1:11211"} 0
headgate_ring_operations_total{result="timeout",server="/run/mc.sock"} 7
headgate_ring_operations_total{result="timeout",server="192.0.2.1:11211"} 0
headgate_ring_reads_dropped_total 0
headgate_ring_server_up{server="/run/mc.sock"} 0
headgate_ring_server_up{server="192.0.2.1:11211"} 1
headgate_ring_timeouts_total{server="/run/mc.sock"} 3
headgate_ring_timeouts_total{server="192.0.2.1:11211"} 0
headgate_ring_unreturned_cost_total 0
headgate_ring_view_age_seconds{server="/run/mc.sock"} 1.25
headgate_ring_view_age_seconds{server="192.0.2.1:11211"} 0.25
`

// TestRingMetrics checks the samples after a few exchanges, that Prometheus likes their names, that
// a registry that looks closely finds them as described, and that they are as many as promised.
func TestRingMetrics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tally := ringtest.NewMeasured()
		j := poptest.NewNode(t, "a", tally, poptest.Rule(10, time.Minute))
		a := newCheckedNode(metrics.Sources{Gate: j.Gate, Ring: func(now window.Instant) pop.Stats {
			s := j.Flusher.Stats(now)
			s.Notices.Sent, s.Notices.Received, s.Notices.Dropped = 1, 2, 3
			// faults and real time, which the test brings about otherwise
			s.Implausible, s.Spent = 12, 250*time.Millisecond
			return s
		}})
		poptest.Pass(2*time.Second, j)
		dropCost(j, tally, 3)
		tally.SetDown(1, true)
		poptest.Pass(time.Second, j)
		time.Sleep(250 * time.Millisecond)
		got := a.lines(t, "headgate_ring_")
		a.check(t, got, ringMetricsWant)
		if len(got) > 16+13*2 {
			t.Errorf("%d series", len(got))
		}
	})
}

// dropCost makes the others never receive a request of so much, in a flush of its own.
func dropCost(j *poptest.Node, tally *ringtest.Measured, cost uint32) {
	gatetest.Decide(j.Gate, j.Gate.Now(), gate.Check, "r", "dropped", cost)
	tally.Distort(func(op *ring.Op) { op.Err, op.Sent = ring.ErrReply, true })
	j.Flusher.Flush(context.Background(), j.Gate.Now(), time.Now())
	tally.Distort(nil)
}

// lines returns the samples of the families whose names begin so.
func (a *node) lines(t *testing.T, begin string) []string {
	t.Helper()
	return slices.DeleteFunc(a.scrape(t), func(line string) bool {
		return !strings.HasPrefix(line, begin)
	})
}

// check compares samples, and looks at all families as a pedantic registry and a linter do.
func (a *node) check(t *testing.T, got []string, want string) {
	t.Helper()
	if diff := cmp.Diff(want, strings.Join(got, "\n")+"\n"); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := a.reg.Gather(); err != nil {
		t.Error(err)
	}
	a.lint(t)
}

// lint checks names, help and units as Prometheus would have them.
func (a *node) lint(t *testing.T) {
	t.Helper()
	problems, err := promlint.New(strings.NewReader(a.page(t))).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %+v", err, problems)
	}
}
