package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/edge/gate/gatetest"

	"github.com/google/go-cmp/cmp"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/live"
	"github.com/headgate-dev/headgate/edge/state"
	"github.com/headgate-dev/headgate/window"
)

// viewersOf adds n viewers that are handed pictures.
func viewersOf(t testing.TB, a *Door, n int) (all []*live.Reader) {
	t.Helper()
	for range n {
		r, err := a.live.hub.Join(true, func() {})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.Leave)
		all = append(all, r)
	}
	return all
}

// TestViewersShareAPicture checks that one look and one encoding serve all viewers, and that nobody's looking is for nobody.
func TestViewersShareAPicture(t *testing.T) {
	t.Parallel()
	a := newDoor(t)
	a.live.turn(1, a.gate.Now())
	if made := a.live.pictures.Load(); made != 0 || a.live.scanned != nil {
		t.Errorf("%d pictures for nobody", made)
	}
	all := viewersOf(t, a, 20)
	for n := range 5 {
		a.live.turn(2+n, a.gate.Now())
		first := <-all[0].Frames()
		for _, r := range all[1:] {
			if frame := <-r.Frames(); &frame[0] != &first[0] {
				t.Fatal("another picture for another viewer")
			}
		}
	}
	if made := a.live.pictures.Load(); made != 5 {
		t.Errorf("%d pictures in 5 turns", made)
	}
}

// TestScansArePaced checks that a node on which a scan takes long is scanned less often, and that what needs none is up to date.
func TestScansArePaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newDoor(t)
		a.refuse("block", "k")
		a.live.picture(a.gate.Now())
		a.live.scanned.took = 30 * time.Millisecond
		time.Sleep(2 * time.Second)
		a.refuse("block", "k2")
		if v := a.live.picture(a.gate.Now()); v.Flags.Total != 1 || v.Rules[1].Denied != 4 || len(v.Top) != 1 {
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

// TestPictureOrder checks which flags of many a picture shows, and in which order.
func TestPictureOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := New(gatetest.New(t, 4<<20, gatetest.Shed, gatetest.Block), Options{Local: true, Log: slog.New(slog.DiscardHandler)})
		for n := range 3 * liveMitigations {
			a.refuse([]string{"shed", "block"}[n%2], fmt.Sprintf("%03d", n))
			time.Sleep(time.Millisecond)
		}
		byHand("shed", "allow")(a)
		v := a.live.picture(a.gate.Now())
		if v.Flags.Total != int(a.gate.FlagStats().Flags) || v.Flags.Allow != 1 || v.Flags.Shed+v.Flags.Block+1 != v.Flags.Total {
			t.Errorf("%+v", v.Flags)
		}
		if len(v.Mitigations) != liveMitigations || v.Mitigations[0].Source != "manual:kim" {
			t.Fatalf("%d, the first %+v", len(v.Mitigations), v.Mitigations[0])
		}
		blocks := v.Mitigations[1:]
		if slices.ContainsFunc(blocks, func(m api.MitigationView) bool { return m.Action != "block" }) {
			t.Error("a shed key before a blocked one")
		}
		if !slices.IsSortedFunc(blocks, func(a, b api.MitigationView) int { return b.Since.Compare(a.Since) }) {
			t.Error("not the newest first")
		}
	})
}

// TestPictureIsWellFormed checks that a picture has no nulls where a page expects lists, on a node with nothing.
func TestPictureIsWellFormed(t *testing.T) {
	t.Parallel()
	a := New(gatetest.New(t, 1<<20), Options{Local: true})
	text, err := json.Marshal(a.live.picture(a.gate.Now()))
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	for name, is := range v {
		if is == nil {
			t.Errorf("%s is null", name)
		}
	}
	if len(v) != 9 {
		t.Errorf("%d members in %s", len(v), text)
	}
}

// TestTroubles checks the words for what may be wrong.
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
		ring := func(clock gate.ClockState, servers []api.RingServerView) api.ClusterView {
			return api.ClusterView{Ring: &api.RingView{Clock: api.ClockView{State: clock.String()}, Servers: servers}}
		}
		e := gatetest.New(t, 1<<20, gatetest.Shed)
		w := newFeed(e, Options{})
		for name, tt := range map[string]struct {
			view api.LiveView
			want []string
		}{
			"well":      {api.LiveView{Cluster: ring(gate.ClockAgreed, lost(0, 3))}, []string{}},
			"ring":      {api.LiveView{Cluster: ring(gate.ClockAgreed, lost(3, 3))}, []string{"ring lost"}},
			"a server":  {api.LiveView{Cluster: ring(gate.ClockAgreed, lost(1, 3))}, []string{"1 of 3 servers of the ring lost"}},
			"clock":     {api.LiveView{Cluster: ring(gate.ClockApart, lost(3, 3))}, []string{"this node's clock is not the ring's: it counts alone"}},
			"comparing": {api.LiveView{Cluster: ring(gate.ClockComparing, lost(0, 3))}, []string{"comparing clocks with the ring: counting alone until then"}},
			"world":     {api.LiveView{Cluster: api.ClusterView{Gossip: &api.GossipView{Lost: true}}}, []string{"other PoPs lost: the failure modes of global rules act"}},
			"alone":     {api.LiveView{Cluster: api.ClusterView{Gossip: &api.GossipView{}}}, []string{"no other node is heard by gossip"}},
			"differing": {
				api.LiveView{Cluster: api.ClusterView{Gossip: &api.GossipView{Connected: true, GossipStats: api.GossipStats{Mismatches: api.Mismatches{Rules: 2}}}}},
				[]string{"members with other global rules: 2"},
			},
			"sketch": {api.LiveView{Sketches: []api.SketchView{{Window: 10, Saturated: true}}}, []string{"the sketch of 10s windows is saturated"}},
		} {
			stats := e.Stats(e.Now())
			if diff := cmp.Diff(tt.want, w.troubles(e.Now(), &tt.view, &stats)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	})
}

// TestTroublesInside checks the words for faults of the node itself: the rules, the slots, the state on disk.
func TestTroublesInside(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := gatetest.New(t, 1<<20, gatetest.Shed)
		e.RefuseReload(errors.New("a fault"))
		saved := state.Stats{Failures: 1, Age: -1}
		w := newFeed(e, Options{State: func(window.Instant) state.Stats { return saved }})
		stats := e.Stats(e.Now())
		want := []string{"the last reload was refused, the old rules stay", "no state could be written to disk yet"}
		if diff := cmp.Diff(want, w.troubles(e.Now(), &api.LiveView{}, &stats)); diff != "" {
			t.Errorf("never written (-want +got):\n%s", diff)
		}
		saved.Age = time.Minute
		stats = e.Stats(e.Now())
		stats.Suspects = stats.Slots
		want = []string{"the last reload was refused, the old rules stay", "every exact slot is taken", "the state on disk is 1m old"}
		if diff := cmp.Diff(want, w.troubles(e.Now(), &api.LiveView{}, &stats)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
