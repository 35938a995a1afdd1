package replay

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/accesslog"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// hourly is a log of n requests, an hour apart, of as many clients.
func hourly(n int) string {
	var log strings.Builder
	for i := range n {
		fmt.Fprintf(&log, "%d\tclient%d\tGET\t/\t200\n", 1_000_000+3600*i, i)
	}
	return log.String()
}

// A sweep falls due with each line of a sparse log, and costs as much as the memory is large. The
// cost of a replay must follow the number of lines all the same, not the days that they cover.
func TestReplayCostsByLinesNotByDays(t *testing.T) {
	const linesOfLog, sweepCost = 2000, 100_000
	j := newExactJudge(twoPerTen())
	j.steps = sweepCost
	replayed(t, j, hourly(linesOfLog))
	if n, most := len(j.swept), 1+linesOfLog*stepsPerLine/sweepCost; n == 0 || n > most {
		t.Errorf("%d sweeps for %d lines, want 1 to %d", n, linesOfLog, most)
	}
}

// countingJudge adds up the steps of a judge's sweeps.
type countingJudge struct {
	judge
	steps, most *int
}

func (j countingJudge) Sweep(now window.Instant) int {
	steps := j.judge.Sweep(now)
	*j.steps += steps
	*j.most = max(*j.most, steps)
	return steps
}

// The same of a real node, which reports the cost itself, in memories of two sizes.
func TestReplayOnARealNodeCostsByLines(t *testing.T) {
	const linesOfLog = 5000
	for _, memory := range []int64{1 << 20, 16 << 20} {
		var steps, most int
		cfg := config.Default()
		cfg.Memory, cfg.Rules = memory, []mitigation.Rule{twoPerTen()}
		r := newReplay(twoPerTen(), byClient, accesslog.TSV, false)
		r.open = func(start time.Time) (judge, error) {
			j, err := openJudge(cfg, start)
			return countingJudge{j, &steps, &most}, err
		}
		readLog(t, r, hourly(linesOfLog))
		if steps == 0 || steps > linesOfLog*stepsPerLine+most {
			t.Errorf("%d MiB: %d steps for %d lines, want at most %d a line and one sweep of %d",
				memory>>20, steps, linesOfLog, stepsPerLine, most)
		}
	}
}

// A key that was idle when a sweep fell due is a newcomer afterwards, whether the sweep was done or
// left out.
func TestReplaySettlesKeysByTheSweepsThatFallDue(t *testing.T) {
	for _, c := range []struct {
		name    string
		log     string
		settled int
	}{
		{"no sweep due", lines("100\ta", "125\ta", "145\ta"), 2},
		{"a sweep due, the key in its window", lines("100\ta", "145\ta", "150\ta"), 2},
		{"a sweep due, the key idle", lines("100\ta", "120\ta", "150\ta"), 1},
		{"a window after that", lines("100\ta", "150\ta", "159\ta", "160\ta"), 1},
	} {
		j := newExactJudge(twoPerTen())
		j.rule.Limit = 100
		if got := replayed(t, j, c.log).Oracle.Settled.Judged; got != int64(c.settled) {
			t.Errorf("%s: %d decisions after the first window as a suspect, want %d",
				c.name, got, c.settled)
		}
	}
}
