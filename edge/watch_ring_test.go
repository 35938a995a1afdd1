package edge

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/gate/health"
	"github.com/headgate-dev/headgate/edge/pop"
	"github.com/headgate-dev/headgate/edge/ring"
)

// watched is the state of the ring at a second: which servers are lost, and the clock.
type watched struct {
	second int
	lost   string // a letter a server, x: lost
	clock  health.ClockState
	skew   time.Duration
}

const ahead = 45 * time.Second

var ringWatchCases = []struct {
	name string
	seen []watched
	want []string
}{
	{"all is well", []watched{
		{0, "..", health.ClockComparing, 0},
		{1, "..", health.ClockAgreed, 0},
		{60, "..", health.ClockAgreed, 0},
	}, nil},
	{
		"a server goes and comes",
		[]watched{
			{0, "..", health.ClockAgreed, 0},
			{1, ".x", health.ClockAgreed, 0},
			{5, ".x", health.ClockAgreed, 0},
			{20, "..", health.ClockAgreed, 0},
		},
		[]string{
			`1 WARN ring: server lost, failure_mode applies to its keys server=s1 silent=1.2s error="it says \\x1b[2J"`,
			`20 INFO ring: server back server=s1`,
		},
	},
	{
		"lost from the start",
		[]watched{{0, "xx", health.ClockComparing, 0}},
		[]string{
			`0 WARN ring: server lost, failure_mode applies to its keys server=s0 silent=1.2s error="it says \\x1b[2J"`,
			`0 WARN ring: server lost, failure_mode applies to its keys server=s1 silent=1.2s error="it says \\x1b[2J"`,
		},
	},
	{
		"a server comes and goes",
		[]watched{
			{1, "x", health.ClockAgreed, 0},
			{2, ".", health.ClockAgreed, 0},
			{3, "x", health.ClockAgreed, 0},
			{10, ".", health.ClockAgreed, 0},
			{11, ".", health.ClockAgreed, 0},
		},
		[]string{
			`1 WARN ring: server lost, failure_mode applies to its keys server=s0 silent=1.2s error="it says \\x1b[2J"`,
			`11 INFO ring: server back server=s0`,
		},
	},
	{
		"the clock is wrong",
		[]watched{
			{0, ".", health.ClockComparing, 0},
			{3, ".", health.ClockApart, ahead},
			{4, ".", health.ClockApart, ahead},
			{20, ".", health.ClockComparing, 0},
			{22, ".", health.ClockAgreed, 0},
		},
		[]string{
			`3 WARN ring: this node's clock is 45 s ahead of the ring's: counting alone`,
			`22 INFO ring: this node's clock agrees with the ring's again: sharing counts`,
		},
	},
	{
		"the clock is behind",
		[]watched{{0, ".", health.ClockApart, -ahead}},
		[]string{`0 WARN ring: this node's clock is 45 s behind the ring's: counting alone`},
	},
}

// TestRingWatch checks that each change is logged once, at most one in 10 s each, and that the
// state at the end of that time is.
func TestRingWatch(t *testing.T) {
	for _, c := range ringWatchCases {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			var line strings.Builder
			w := ringWatch{log: slog.New(slog.NewTextHandler(&line,
				&slog.HandlerOptions{ReplaceAttr: edgetest.DropTime}))}
			for _, s := range c.seen {
				w.look(edgetest.Noon.Add(time.Duration(s.second)*time.Second), s.stats())
				for text := range strings.Lines(line.String()) {
					got = append(got, edgetest.PlainLine(s.second, text))
				}
				line.Reset()
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func (s watched) stats() pop.Stats {
	stats := pop.Stats{Clock: s.clock, Skew: s.skew}
	for n, c := range s.lost {
		stats.Servers = append(stats.Servers, pop.Server{
			ServerStats: ring.ServerStats{
				Address:   "s" + string(rune('0'+n)),
				LastError: "it says \x1b[2J",
			},
			Lost: c == 'x', Silent: 1200 * time.Millisecond,
		})
	}
	return stats
}
