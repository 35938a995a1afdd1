package admin_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/edge/admin"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/mitigation"
)

// Bounds of a second, as the documentation of package admin states them.
const (
	maxEvents     = 100 // on a stream
	maxEventLines = 5   // in the log
)

// settled returns the names of the events that f got until two more seconds have passed in its
// bubble, without those of pictures.
func (f *follower) settled() (names []string) {
	time.Sleep(2 * liveEvery)
	synctest.Wait()
	for len(f.events) > 0 {
		if e := <-f.events; e.Name != api.EventLive && e.Name != api.EventHello {
			names = append(names, e.Name)
		}
	}
	return names
}

// TestEventsAreBounded checks that of a flood of flags a part is sent, those set by hand first, and
// the others are counted; and that the log gets a few lines.
func TestEventsAreBounded(t *testing.T) {
	var log edgetest.Log
	o := admin.Options{Log: slog.New(slog.NewJSONHandler(&log, nil))}
	make16 := func(t *testing.T) *gate.Gate {
		return gatetest.New(t, 16<<20, gatetest.Shed, gatetest.Block)
	}
	inBubbleOf(t, make16, o, func(t *testing.T, a *node, p *pipes) {
		f := follow(t, p.dial, "")
		f.next(api.EventHello)
		for n := range 500 {
			a.refuse("block", fmt.Sprint(n))
		}
		a.mustSet(t, `{"rule":"shed","key":"by hand","action":"block"}`)
		before := len(log.String())
		for n := range maxEvents {
			if e := f.next(api.EventFlagSet); n == 0 != bytes.Contains(e.Data, []byte("by hand")) {
				t.Fatalf("event %d: %s", n, e.Data)
			}
		}
		lost := eventOf[api.LostView](f, api.EventLost).Events
		if flags := a.gate.FlagStats(); int64(lost) < flags.Flags-maxEvents {
			t.Errorf("%d lost of %+v", lost, flags)
		}
		want := []string{
			fmt.Sprintf("headgate_events_dropped_total %d", lost),
			fmt.Sprintf("headgate_events_sent_total %d", maxEvents),
		}
		for lines, n := scrape(t, a), 0; n < len(want); n++ {
			if !slices.Contains(lines, want[n]) {
				t.Errorf("no %s", want[n])
			}
		}
		synctest.Wait() // the log's lines are written after the streams'
		text := log.String()[before:]
		first, _, _ := strings.Cut(text, "\n")
		if lines := strings.Count(text, "\n"); lines != maxEventLines ||
			!strings.Contains(first, fmt.Sprintf(`"changes":%d`, lost+maxEvents-maxEventLines+1)) {
			t.Errorf("%d lines:\n%s", lines, text)
		}
	})
}

// TestEventsOfAKeyAreOne checks the event of several changes of one flag within a second.
func TestEventsOfAKeyAreOne(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		before func(a *node)
		then   func(a *node)
		want   string
	}{
		{
			"set twice", nil, func(a *node) {
				byHand("shed", "block")(a)
				byHand("shed",
					"block")(a)
			},
			api.EventFlagSet,
		},
		{"set and lifted", nil, func(a *node) {
			byHand("shed", "block")(a)
			a.ask("DELETE", "/v1/mitigations?rule=shed&key=k", "")
		}, api.EventFlagCleared},
		{"set again", byHand("shed", "allow"), byHand("shed", "block"), api.EventFlagChanged},
		{"a reload that moves it", byHand("shed", "block"), func(a *node) {
			a.gate.SetRules([]mitigation.Rule{{Name: "shed", Limit: 3, Window: 20 * time.Second}})
		}, ""},
		{
			"its rule is gone", byHand("shed", "block"), func(a *node) { a.gate.SetRules(nil) },
			api.EventFlagCleared,
		},
		{"nothing", byHand("shed", "block"), func(*node) {}, ""},
		{"it expired", byHand("shed", "block"), func(a *node) {
			time.Sleep(11 * time.Minute)
			a.gate.Turn(10, a.gate.Now(), time.Now()) // every tenth turn clears out flags
		}, api.EventFlagCleared},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, admin.Options{}, func(t *testing.T, a *node, p *pipes) {
				f := follow(t, p.dial, "")
				if tt.before != nil {
					tt.before(a)
					f.settled()
				}
				tt.then(a)
				if got := f.settled(); strings.Join(got, " ") != tt.want {
					t.Errorf("%q, want %q", got, tt.want)
				}
			})
		})
	}
}

// TestRatiosDoNotFlood checks that a key whose ratio varies makes one event.
func TestRatiosDoNotFlood(t *testing.T) {
	inBubble(t, admin.Options{}, func(t *testing.T, a *node, p *pipes) {
		f := follow(t, p.dial, "")
		for n := range mitigation.Ratio(50) {
			a.flagRatio("shed", mitigation.MaxRatio/2+n%2*mitigation.RatioStep/2)
			gatetest.Decide(a.gate, a.gate.Now(), gate.Check, "shed", "k", 1)
			time.Sleep(liveEvery)
		}
		if got := f.settled(); len(got) != 1 {
			t.Errorf("%q", got)
		}
	})
}
