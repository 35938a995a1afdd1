package admin

import (
	"fmt"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/explain"
	"github.com/headgate-dev/headgate/edge/gate/health"
	"github.com/headgate-dev/headgate/window"
)

// troubles returns the present faults of the node that v shows, in words; empty if there are none.
// It is the list that /readyz has in a word: each line names the fault in words of the
// documentation, so people can search for the line.
func (w *feed) troubles(now window.Instant, v *api.LiveView, stats *window.Stats) []string {
	all := []string{}
	add := func(is bool, format string, a ...any) {
		if is {
			all = append(all, fmt.Sprintf(format, a...))
		}
	}
	if r := v.Cluster.Ring; r != nil {
		all = ringTroubles(r, all)
	}
	if g := v.Cluster.Gossip; g != nil {
		all = gossipTroubles(g, all)
	}
	_, err := w.gate.LastReload()
	add(err != nil, "the last reload failed, the old rules stay in force")
	flags := w.gate.FlagStats()
	add(flags.Flags >= flags.Capacity, "the table of mitigations is full")
	add(stats.Suspects >= stats.Slots, "there is no room to count more keys exactly")
	for _, s := range v.Sketches {
		add(s.Saturated, "the counters of %v windows are too full for good estimates",
			seconds64(s.Window))
	}
	if w.options.State != nil {
		state := w.options.State(now)
		// the age from which the state on disk is a fault. Written every second.
		add(state.Age > (15*time.Second), "the state on disk is %s old", explain.Span(state.Age))
		add(state.Age < 0 && state.Failures > 0, "no state could be written to disk yet")
	}
	return all
}

// seconds64 returns a number of seconds as a duration.
func seconds64(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// ringTroubles appends the faults of the ring. A clock differing loses every server at once, so
// then the only fault.
func ringTroubles(v *api.RingView, all []string) []string {
	lost := 0
	for n := range v.Servers {
		if v.Servers[n].Lost {
			lost++
		}
	}
	switch {
	case v.Clock.State == health.ClockApart.String():
		return append(all, "this node's clock differs from the ring's: it counts alone")
	case lost == len(v.Servers):
		return append(all, "ring lost")
	case v.Clock.State == health.ClockComparing.String():
		all = append(all, "comparing clocks with the ring: counting alone until then")
	}
	if lost > 0 {
		all = append(all, fmt.Sprintf("%d of %d servers of the ring lost", lost, len(v.Servers)))
	}
	return all
}

// gossipTroubles appends the faults of the exchange with other PoPs. The likeliest cause is named
// first: a clock or a key differing looks like an empty cluster.
func gossipTroubles(v *api.GossipView, all []string) []string {
	switch {
	case v.Lost:
		all = append(all, "other PoPs lost: global rules follow their failure mode")
	case !v.Connected && v.Mismatches.Clock > 0:
		all = append(all, "no other node is trusted by gossip: clocks are more than a minute apart")
	case !v.Connected:
		all = append(all, "no other node answers gossip")
	}
	for _, differ := range []struct {
		members int
		setting string
	}{{v.Mismatches.Ring, "ring servers"}, {v.Mismatches.Rules, "global rules"}, {
		v.Mismatches.Wire,
		"wire version",
	}, {v.Mismatches.Clock, "clocks"}} {
		if differ.members > 0 {
			all = append(all, fmt.Sprintf("members with other %s: %d",
				differ.setting, differ.members))
		}
	}
	return all
}
