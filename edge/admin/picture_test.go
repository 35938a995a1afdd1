package admin_test

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/edge/admin"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/live"
)

// TestViewersShareAPicture checks that one picture a second serves all viewers, and none is made
// when there are none. Each picture asks for the doors once.
func TestViewersShareAPicture(t *testing.T) {
	var made atomic.Int32
	o := admin.Options{
		Doors: func() []api.DoorView { made.Add(1); return nil },
	}
	inBubble(t, o, func(t *testing.T, a *node, p *pipes) {
		time.Sleep(10 * liveEvery)
		synctest.Wait()
		if n := made.Load(); n != 0 {
			t.Errorf("%d pictures for nobody", n)
		}
		var all []*follower
		for range 20 {
			f := follow(t, p.dial, "?live=1")
			f.next(api.EventHello)
			f.next(api.EventLive)
			all = append(all, f)
		}
		time.Sleep(liveEvery)
		synctest.Wait()
		for _, f := range all {
			for len(f.events) > 0 {
				<-f.events
			}
		}
		made.Store(0)
		for range 5 {
			first := all[0].next(api.EventLive)
			for _, f := range all[1:] {
				if e := f.next(api.EventLive); !bytes.Equal(e.Data, first.Data) {
					t.Errorf("another picture for another viewer: %s", e.Data)
				}
			}
		}
		synctest.Wait()
		if n := made.Load(); n != 5 {
			t.Errorf("%d pictures in 5 seconds", n)
		}
	})
}

// TestPictureOrder checks which flags of many a picture shows, and in which order.
func TestPictureOrder(t *testing.T) {
	edgetest.Alone(t)
	const shown = 100
	// no flag gives up its place
	spacious := func(t *testing.T) *gate.Gate {
		return gatetest.New(t, 32<<20,
			gatetest.Shed, gatetest.Block)
	}
	inBubbleOf(t, spacious, admin.Options{}, func(t *testing.T, a *node, p *pipes) {
		for range 20 { // the heaviest, and the oldest
			a.refuse("shed", "attacker")
		}
		for n := range 3 * shown {
			a.refuse([]string{"shed", "block"}[n%2], fmt.Sprintf("%03d", n))
			time.Sleep(time.Millisecond)
		}
		byHand("shed", "allow")(a)
		byHand("block", "block")(a)
		f := follow(t, p.dial, "?live=1")
		f.next(api.EventHello)
		v := eventOf[api.LiveView](f, api.EventLive)
		if v.Flags.Total != int(a.gate.FlagStats().Flags) || v.Flags.Allow != 1 ||
			v.Flags.Shed+v.Flags.Block+1 != v.Flags.Total {
			t.Errorf("%+v", v.Flags)
		}
		if v.Rules[0].Allowed != 1 || v.Rules[1].Allowed != 0 {
			t.Errorf("allowed: %+v", v.Rules)
		}
		if len(v.Mitigations) != shown || v.Mitigations[0].Key != "attacker" ||
			v.Mitigations[0].DeniedRate < 9 {
			t.Fatalf("%d, the first %+v", len(v.Mitigations), v.Mitigations[0])
		}
		if slices.ContainsFunc(v.Mitigations,
			func(m api.MitigationView) bool { return m.DeniedRate == 0 }) {
			t.Error("a key that is denied nothing is among the first")
		}
	})
}

// TestPictureIsWellFormed checks that a picture has no nulls where a page expects lists, on a node
// without rules.
func TestPictureIsWellFormed(t *testing.T) {
	edgetest.Alone(t)
	empty := func(t *testing.T) *gate.Gate { return gatetest.New(t, 1<<20) }
	inBubbleOf(t, empty, admin.Options{}, func(t *testing.T, _ *node, p *pipes) {
		f := follow(t, p.dial, "?live=1")
		f.next(api.EventHello)
		v := eventOf[map[string]any](f, api.EventLive)
		for name, is := range v {
			if is == nil {
				t.Errorf("%s is null", name)
			}
		}
		if len(v) < 11 {
			t.Errorf("%d members in %v", len(v), v)
		}
	})
}

// TestLiveMetrics checks the figures of streams: the viewers, those beyond the bound, and those
// that are cut because they take nothing.
func TestLiveMetrics(t *testing.T) {
	o := admin.Options{Unlogged: func() uint64 { return 5 }}
	inBubble(t, o, func(t *testing.T, a *node, p *pipes) {
		for range live.MaxReaders + 1 {
			c, _ := p.dial(t.Context(), "", "")
			defer func() { _ = c.Close() }()
			if _, err := io.WriteString(c, "GET /v1/events?live=1 HTTP/1.1\r\nHost: "+
				"localhost\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		byHand("shed", "block")(a)
		time.Sleep(liveEvery)
		synctest.Wait()
		got := scrape(t, a)
		time.Sleep(2 * writeTimeout)
		got = append(got, scrape(t, a)...)
		for _, want := range []string{
			"headgate_events_viewers 64", "headgate_events_sent_total 1",
			"headgate_events_dropped_total 0",
			"headgate_events_refused_readers_total 1", "headgate_log_dropped_lines_total 5",
			"headgate_events_cut_readers_total 64", "headgate_events_viewers 0",
		} {
			if !slices.Contains(got, want) {
				t.Errorf("no %s", want)
			}
		}
	})
}
