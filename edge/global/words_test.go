package global

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/override"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

// giveWords makes n remember as many words as there may be, with a reason of that many bytes each.
func (n *simNode) giveWords(reason int) {
	wall := n.wall().UnixMilli()
	for k := range override.MaxHeld {
		word := override.Override{
			Rule: "login", Key: fmt.Appendf(nil, "client-%d", k), Verb: override.Block,
			Node: "edge-1.lhr", Who: "op", Reason: fmt.Sprintf("%0*d", reason, k),
			Issued: wall, Until: wall + simWords.Milliseconds(),
			Keep: wall + simWords.Milliseconds(),
		}
		n.edge.MergeOverride(override.Append(nil, &word))
	}
}

// held returns how many words n remembers.
func (n *simNode) held() (words int) {
	n.edge.AppendOverrides(func([]byte) bool { words++; return true })
	return words
}

// TestAllWordsArrive: a node that joins is told every word that operators said, be they as many as
// there may be and longer than one exchange takes.
func TestAllWordsArrive(t *testing.T) {
	edgetest.Alone(t)
	for _, c := range []struct {
		reason int
		within time.Duration
	}{{0, 10 * time.Second}, {21, 15 * time.Second}, {override.MaxReason, 60 * time.Second}} {
		t.Run(fmt.Sprint(c.reason), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startSim(t, &simPlan{
					seed: 1, full: true, pops: []int{1, 1}, memory: 64 << 20,
				})
				s.nodes[0].giveWords(c.reason)
				for step := 1; step < int(c.within/simStep); step++ {
					s.step(step)
				}
				if held := s.nodes[1].held(); held != override.MaxHeld {
					t.Errorf("%d of %d words have arrived after %v", held,
						override.MaxHeld, c.within)
				}
				for k := range override.MaxHeld {
					if a := s.nodes[1].decide("login",
						fmt.Appendf(nil, "client-%d", k)); a.Why != mitigation.ByBlock {
						t.Errorf("word %d does not hold: %+v", k, a)
					}
				}
				if unfit := s.nodes[0].world.stats().Dropped["state_room"]; (unfit > 0) != (c.reason > 0) {
					t.Errorf("%d parts are counted as not fitting", unfit)
				}
			})
		})
	}
}
