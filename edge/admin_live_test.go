package edge

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/live"
)

// viewersOf adds n viewers that are handed pictures.
func viewersOf(t testing.TB, a *Admin, n int) (all []*live.Reader) {
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
	a := newTestAdmin(t, AdminOptions{Local: true})
	a.live.turn(1, a.edge.Now())
	if made := a.live.pictures.Load(); made != 0 || a.live.scanned != nil {
		t.Errorf("%d pictures for nobody", made)
	}
	all := viewersOf(t, a, 20)
	for n := range 5 {
		a.live.turn(2+n, a.edge.Now())
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
		a := newTestAdmin(t, AdminOptions{Local: true})
		a.refuse("block", "k")
		a.live.picture(a.edge.Now())
		a.live.scanned.took = 30 * time.Millisecond
		time.Sleep(2 * time.Second)
		a.refuse("block", "k2")
		if v := a.live.picture(a.edge.Now()); v.Flags.Total != 1 || v.Rules[1].Denied != 4 || len(v.Top) != 1 {
			t.Errorf("too soon: %+v", v)
		}
		time.Sleep(time.Second)
		if v := a.live.picture(a.edge.Now()); v.Flags.Total != 2 || len(v.Top) != 2 {
			t.Errorf("in time: %+v", v)
		}
		time.Sleep(2 * time.Minute) // the flags are over
		a.live.scanned.at, a.live.scanned.took = a.edge.Now(), time.Minute
		if v := a.live.picture(a.edge.Now()); len(v.Mitigations) != 0 {
			t.Errorf("shown though over: %+v", v.Mitigations)
		}
	})
}

// TestPictureOrder checks which flags of many a picture shows, and in which order.
func TestPictureOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := NewAdmin(newTestEdge(t, 4<<20, shedRule, blockRule), AdminOptions{Local: true, Log: slog.New(slog.DiscardHandler)})
		for n := range 3 * liveMitigations {
			a.refuse([]string{"shed", "block"}[n%2], fmt.Sprintf("%03d", n))
			time.Sleep(time.Millisecond)
		}
		byHand("shed", "allow")(a)
		v := a.live.picture(a.edge.Now())
		if v.Flags.Total != int(a.edge.flags.Stats().Flags) || v.Flags.Allow != 1 || v.Flags.Shed+v.Flags.Block+1 != v.Flags.Total {
			t.Errorf("%+v", v.Flags)
		}
		if len(v.Mitigations) != liveMitigations || v.Mitigations[0].Source != "manual:kim" {
			t.Fatalf("%d, the first %+v", len(v.Mitigations), v.Mitigations[0])
		}
		blocks := v.Mitigations[1:]
		if slices.ContainsFunc(blocks, func(m MitigationView) bool { return m.Action != "block" }) {
			t.Error("a shed key before a blocked one")
		}
		if !slices.IsSortedFunc(blocks, func(a, b MitigationView) int { return b.Since.Compare(a.Since) }) {
			t.Error("not the newest first")
		}
	})
}

// TestPictureIsWellFormed checks that a picture has no nulls where a page expects lists, on a node with nothing.
func TestPictureIsWellFormed(t *testing.T) {
	t.Parallel()
	a := NewAdmin(newTestEdge(t, 1<<20), AdminOptions{Local: true})
	text, err := json.Marshal(a.live.picture(a.edge.Now()))
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
		lost := func(n, of int) []RingServerView {
			all := make([]RingServerView, of)
			for i := range n {
				all[i].Lost = true
			}
			return all
		}
		ring := func(clock ClockState, servers []RingServerView) ClusterView {
			return ClusterView{Ring: &RingView{Clock: ClockView{State: clock.String()}, Servers: servers}}
		}
		e := newTestEdge(t, 1<<20, shedRule)
		for name, tt := range map[string]struct {
			view LiveView
			want []string
		}{
			"well":      {LiveView{Cluster: ring(ClockAgreed, lost(0, 3))}, []string{}},
			"ring":      {LiveView{Cluster: ring(ClockAgreed, lost(3, 3))}, []string{"ring lost"}},
			"a server":  {LiveView{Cluster: ring(ClockAgreed, lost(1, 3))}, []string{"1 of 3 servers of the ring lost"}},
			"clock":     {LiveView{Cluster: ring(ClockApart, lost(3, 3))}, []string{"this node's clock is not the ring's: it counts alone"}},
			"comparing": {LiveView{Cluster: ring(ClockComparing, lost(0, 3))}, []string{"comparing clocks with the ring: counting alone until then"}},
			"world":     {LiveView{Cluster: ClusterView{Gossip: &GossipView{Lost: true}}}, []string{"other PoPs lost: the failure modes of global rules act"}},
			"alone":     {LiveView{Cluster: ClusterView{Gossip: &GossipView{}}}, []string{"no other node is heard by gossip"}},
			"differing": {
				LiveView{Cluster: ClusterView{Gossip: &GossipView{Connected: true, WorldStats: WorldStats{Mismatches: WorldMismatches{Rules: 2}}}}},
				[]string{"members with other global rules: 2"},
			},
			"sketch": {LiveView{Sketches: []SketchView{{Window: 10, Saturated: true}}}, []string{"the sketch of 10s windows is saturated"}},
		} {
			stats := e.Stats(e.Now())
			if diff := cmp.Diff(tt.want, e.troubles(e.Now(), &tt.view, &stats)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	})
}

// TestTroublesInside checks the words for what a view of others does not show: the rules, the slots, the state on disk.
func TestTroublesInside(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newTestEdge(t, 1<<20, shedRule)
		_ = e.Reload(time.Now(), func() (config.Config, error) { return config.Config{}, errors.New("a fault") })
		e.keeper = &State{edge: e}
		e.keeper.failures.Add(1)
		stats := e.Stats(e.Now())
		want := []string{"the last reload was refused, the old rules stay", "no state could be written to disk yet"}
		if diff := cmp.Diff(want, e.troubles(e.Now(), &LiveView{}, &stats)); diff != "" {
			t.Errorf("never written (-want +got):\n%s", diff)
		}
		e.keeper.at.Store(int64(e.Now()))
		time.Sleep(time.Minute)
		stats = e.Stats(e.Now())
		stats.Suspects = stats.Slots
		want = []string{"the last reload was refused, the old rules stay", "every exact slot is taken", "the state on disk is 1m old"}
		if diff := cmp.Diff(want, e.troubles(e.Now(), &LiveView{}, &stats)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
