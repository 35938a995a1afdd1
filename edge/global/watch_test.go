package global

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/gossip"
)

// outlooks is the input of a watch at a second: the state, and how many members have other rules.
type outlooks struct {
	second int
	is     standing
	others int
}

var watchCases = []struct {
	name string
	seen []outlooks
	want []string
}{
	{"alone from the start, by intention", []outlooks{{0, alone, 0}, {60, alone, 0}}, nil},
	{
		"others come, go for a moment, and come back",
		[]outlooks{{0, alone, 0}, {1, heard, 0}, {20, alone, 0}, {21, heard, 0}, {31, heard, 0}},
		[]string{
			`1 INFO gossip: other nodes are connected, global rules apply across all of them nodes=3 pops=2`,
			`20 WARN gossip: no records from other nodes joinError="no \\x1b[2J"`,
			`31 INFO gossip: other nodes are connected, global rules apply across all of them nodes=3 pops=2`,
		},
	},
	{
		"others come and go",
		[]outlooks{{1, heard, 0}, {2, alone, 0}, {3, heard, 0}, {12, heard, 0}},
		[]string{
			`1 INFO gossip: other nodes are connected, global rules apply across all of them nodes=3 pops=2`,
		},
	},
	{
		"nobody is ever heard",
		[]outlooks{{0, alone, 0}, {30, silent, 0}, {90, silent, 0}},
		[]string{
			`30 WARN gossip: lost, no trusted record from another node for too long: failure_mode of global rules applies silent=30s joinError="no \\x1b[2J"`,
		},
	},
	{
		"others come, and their clocks are wrong",
		[]outlooks{{0, alone, 0}, {1, skewed, 0}, {40, heard, 0}},
		[]string{
			`1 WARN gossip: records of other nodes are rejected because their clocks are more than a minute from this node's: is NTP running? nodes=3 pops=2`,
			`40 INFO gossip: other nodes are connected, global rules apply across all of them nodes=3 pops=2`,
		},
	},
	{
		"rules differ while they are rolled out, and for long",
		[]outlooks{
			{0, alone, 1},
			{10, alone, 0},
			{20, alone, 2},
			{50, alone, 1},
			{80, alone, 0},
			{90, alone, 0},
		},
		[]string{`80 INFO gossip: all members have the same rules again after=1m0s`},
	},
}

// TestWatch checks that each change is logged once, at most one in 10 s, and that the state at the
// end of that time is.
func TestWatch(t *testing.T) {
	for _, c := range watchCases {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			var line strings.Builder
			w := newWatch(slog.New(slog.NewTextHandler(&line,
				&slog.HandlerOptions{ReplaceAttr: edgetest.DropTime})), 30*time.Second)
			for _, s := range c.seen {
				w.Look(edgetest.Noon.Add(time.Duration(s.second)*time.Second), s.is, gossip.Stats{
					PoPs: []gossip.PoPStats{
						{PoP: "cdg", Alive: 1},
						{PoP: "lhr", Alive: 2},
						{PoP: "nrt", Dead: 4},
					},
					JoinError: "no \x1b[2J", Mismatches: gossip.Mismatches{Rules: s.others},
				})
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
