package admin

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/gate/health"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/state"
	"github.com/headgate-dev/headgate/window"
)

// TestScansArePaced checks that a node on which a scan takes long is scanned less often, and that
// what needs none is up to date.
func TestScansArePaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newDoor(t)
		a.refuse("block", "k")
		a.live.picture(a.gate.Now())
		a.live.scanned.took = 30 * time.Millisecond
		time.Sleep(2 * time.Second)
		a.refuse("block", "k2")
		if v := a.live.picture(a.gate.Now()); v.Flags.Total != 1 || v.Rules[1].Denied != 4 ||
			len(v.Top) != 1 {
			t.Errorf("too soon: %+v", v)
		}
		time.Sleep(time.Second)
		if v := a.live.picture(a.gate.Now()); v.Flags.Total != 2 || len(v.Top) != 2 {
			t.Errorf("in time: %+v", v)
		}
		time.Sleep(2 * time.Minute) // the flags are over
		a.live.scanned.at, a.live.scanned.took = a.gate.Now(), time.Minute
		if v := a.live.picture(a.gate.Now()); len(v.Mitigations) != 0 {
			t.Errorf("shown though over: %+v", v.Mitigations)
		}
	})
}

// TestTroubles checks the words for faults.
func TestTroubles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lost := func(n, of int) []api.RingServerView {
			all := make([]api.RingServerView, of)
			for i := range n {
				all[i].Lost = true
			}
			return all
		}
		ring := func(clock health.ClockState, servers []api.RingServerView) api.ClusterView {
			return api.ClusterView{Ring: &api.RingView{
				Clock:   api.ClockView{State: clock.String()},
				Servers: servers,
			}}
		}
		e := gatetest.New(t, 1<<20, gatetest.Shed)
		w := newFeed(e, Options{})
		for name, tt := range map[string]struct {
			view api.LiveView
			want []string
		}{
			"well": {api.LiveView{Cluster: ring(health.ClockAgreed, lost(0, 3))}, []string{}},
			"ring": {
				api.LiveView{Cluster: ring(health.ClockAgreed, lost(3, 3))},
				[]string{"ring lost"},
			},
			"a server": {
				api.LiveView{Cluster: ring(health.ClockAgreed, lost(1, 3))},
				[]string{"1 of 3 servers of the ring lost"},
			},
			"clock": {
				api.LiveView{Cluster: ring(health.ClockApart, lost(3, 3))},
				[]string{"this node's clock differs from the ring's: it counts alone"},
			},
			"comparing": {
				api.LiveView{Cluster: ring(health.ClockComparing, lost(0, 3))},
				[]string{"comparing clocks with the ring: counting alone until then"},
			},
			"world": {
				api.LiveView{Cluster: api.ClusterView{Gossip: &api.GossipView{Lost: true}}},
				[]string{"other PoPs lost: global rules follow their failure mode"},
			},
			"alone": {
				api.LiveView{Cluster: api.ClusterView{Gossip: &api.GossipView{}}},
				[]string{"no other node answers gossip"},
			},
			"differing": {
				api.LiveView{Cluster: api.ClusterView{Gossip: &api.GossipView{
					Connected:   true,
					GossipStats: api.GossipStats{Mismatches: api.Mismatches{Rules: 2}},
				}}},
				[]string{"members with other global rules: 2"},
			},
			"sketch": {
				api.LiveView{Sketches: []api.SketchView{{Window: 10, Saturated: true}}},
				[]string{"the counters of 10s windows are too full for good estimates"},
			},
		} {
			stats := e.Stats(e.Now())
			if diff := cmp.Diff(tt.want, texts(w.troubles(e.Now(), &tt.view, &stats))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	})
}

// texts returns what faults say.
func texts(all troubles) []string {
	words := []string{}
	for _, f := range all {
		words = append(words, f.Text)
	}
	return words
}

// TestTroublesInside checks the words for faults of the node itself: the rules, the slots, the
// state on disk.
func TestTroublesInside(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := gatetest.New(t, 1<<20, gatetest.Shed)
		e.RefuseReload(errors.New("a fault"))
		saved := state.Stats{Failures: 1, Age: -1}
		w := newFeed(e, Options{State: func(window.Instant) state.Stats { return saved }})
		stats := e.Stats(e.Now())
		want := []string{"the last reload failed, the old rules stay in force", "no state could " +
			"be written to disk yet"}
		if diff := cmp.Diff(want, texts(w.troubles(e.Now(), &api.LiveView{}, &stats))); diff != "" {
			t.Errorf("never written (-want +got):\n%s", diff)
		}
		saved.Age = time.Minute
		stats = e.Stats(e.Now())
		stats.Suspects = stats.Slots
		want = []string{"the last reload failed, the old rules stay in force", "there is no room " +
			"to count more keys exactly", "the state on disk is 1m old"}
		if diff := cmp.Diff(want, texts(w.troubles(e.Now(), &api.LiveView{}, &stats))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
