package edge

import (
	"fmt"
	"time"

	"github.com/headgate-dev/headgate/window"
)

// staleState is how old the state on disk may be before that is a trouble: it is written every second.
const staleState = 15 * time.Second

// troubles says in words what is not as it should be with the node that v shows; empty when all is well.
func (e *Edge) troubles(now window.Instant, v *LiveView, stats *window.Stats) []string {
	all := []string{}
	say := func(is bool, format string, a ...any) {
		if is {
			all = append(all, fmt.Sprintf(format, a...))
		}
	}
	if r := v.Cluster.Ring; r != nil {
		all = r.troubles(all)
	}
	if g := v.Cluster.Gossip; g != nil {
		all = g.troubles(all)
	}
	_, err := e.reloads.last()
	say(err != nil, "the last reload was refused, the old rules stay")
	flags := e.flags.Stats()
	say(flags.Flags >= flags.Capacity, "the table of flags is full")
	say(stats.Suspects >= stats.Slots, "every exact slot is taken")
	for _, s := range v.Sketches {
		say(s.Saturated, "the sketch of %v windows is saturated", seconds64(s.Window))
	}
	if e.keeper != nil {
		state := e.keeper.Stats(now)
		say(state.Age > staleState, "the state on disk is %s old", spanOf(state.Age))
		say(state.Age < 0 && state.Failures > 0, "no state could be written to disk yet")
	}
	return all
}

func seconds64(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// troubles appends what is wrong with the ring. A clock that is apart loses every server at once.
func (v *RingView) troubles(all []string) []string {
	lost := 0
	for n := range v.Servers {
		if v.Servers[n].Lost {
			lost++
		}
	}
	switch {
	case v.Clock.State == ClockApart.String():
		return append(all, "this node's clock is not the ring's: it counts alone")
	case lost == len(v.Servers):
		return append(all, "ring lost")
	case v.Clock.State == ClockComparing.String():
		all = append(all, "comparing clocks with the ring: counting alone until then")
	}
	if lost > 0 {
		all = append(all, fmt.Sprintf("%d of %d servers of the ring lost", lost, len(v.Servers)))
	}
	return all
}

// troubles appends what is wrong between the PoPs.
func (v *GossipView) troubles(all []string) []string {
	switch {
	case v.Lost:
		all = append(all, "other PoPs lost: the failure modes of global rules act")
	case !v.Connected:
		all = append(all, "no other node is heard by gossip")
	}
	for _, differ := range []struct {
		members int
		what    string
	}{{v.Mismatches.Ring, "ring servers"}, {v.Mismatches.Rules, "global rules"}, {v.Mismatches.Wire, "wire version"}} {
		if differ.members > 0 {
			all = append(all, fmt.Sprintf("members with other %s: %d", differ.what, differ.members))
		}
	}
	return all
}
