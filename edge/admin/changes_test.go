package admin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/edge/gate/gatetest"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/live"
	"github.com/headgate-dev/headgate/mitigation"
)

// TestEventsAreBounded checks that of a flood of flags a part is sent, those set by hand first, and the others are counted; and that
// the log gets a few lines.
func TestEventsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		a := New(gatetest.New(t, 16<<20, gatetest.Shed, gatetest.Block), Options{Local: true, Log: slog.New(slog.NewJSONHandler(&log, nil))})
		reader, err := a.live.hub.Join(false, func() {})
		if err != nil {
			t.Fatal(err)
		}
		for n := range 500 {
			a.refuse("block", fmt.Sprint(n))
		}
		a.ask("POST", "/v1/mitigations", `{"rule":"shed","key":"by hand","action":"block"}`)
		log.Reset()
		a.live.turn(1, a.gate.Now())
		var lost api.LostView
		events := live.NewScanner(bytes.NewReader(<-reader.Frames()))
		for n := range maxEvents {
			e, err := events.Next()
			if err != nil || e.Name != api.EventFlagSet || n == 0 != bytes.Contains(e.Data, []byte("by hand")) {
				t.Fatalf("event %d: %q %s, %v", n, e.Name, e.Data, err)
			}
		}
		if e, err := events.Next(); err != nil || e.Name != api.EventLost || json.Unmarshal(e.Data, &lost) != nil {
			t.Fatalf("%q %s, %v", e.Name, e.Data, err)
		}
		if flags := a.gate.FlagStats(); int64(lost.Events) < flags.Flags-maxEvents || a.live.dropped.Load() != lost.Events || a.live.sent.Load() != maxEvents {
			t.Errorf("lost %+v of %+v", lost, flags)
		}
		if lines := strings.Count(log.String(), "\n"); lines != maxEventLines || !strings.Contains(log.String(), fmt.Sprintf(`"events":%d`, lost.Events+maxEvents-maxEventLines+1)) {
			t.Errorf("%d lines:\n%s", lines, &log)
		}
	})
}

// published returns the names of the events that follow from then.
func (a *Door) published(t *testing.T, then func(*Door)) (names []string) {
	t.Helper()
	reader, err := a.live.hub.Join(false, func() {})
	if err != nil {
		t.Fatal(err)
	}
	then(a)
	a.live.publish(a.gate.Now())
	a.live.publish(a.gate.Now())
	a.live.hub.Close()
	for frame := range reader.Frames() {
		for s := live.NewScanner(bytes.NewReader(frame)); ; {
			e, err := s.Next()
			if err != nil {
				break
			}
			names = append(names, e.Name)
		}
	}
	return names
}

// TestEventsOfAKeyAreOne checks what several changes of one flag within a turn come to.
func TestEventsOfAKeyAreOne(t *testing.T) {
	t.Parallel()
	block := `{"rule":"shed","key":"k","action":"block"}`
	for _, tt := range []struct {
		name   string
		before func(a *Door)
		then   func(a *Door)
		want   string
	}{
		{"set twice", nil, func(a *Door) { a.ask("POST", "/v1/mitigations", block); a.ask("POST", "/v1/mitigations", block) }, api.EventFlagSet},
		{"set and lifted", nil, func(a *Door) {
			a.ask("POST", "/v1/mitigations", block)
			a.ask("DELETE", "/v1/mitigations?rule=shed&key=k", "")
		}, api.EventFlagCleared},
		{"set again", byHand("shed", "allow"), byHand("shed", "block"), api.EventFlagChanged},
		{"a reload that moves it", byHand("shed", "block"), func(a *Door) {
			a.gate.SetRules([]mitigation.Rule{{Name: "shed", Limit: 3, Window: 20 * time.Second}})
		}, ""},
		{"its rule is gone", byHand("shed", "block"), func(a *Door) { a.gate.SetRules(nil) }, api.EventFlagCleared},
		{"nothing", byHand("shed", "block"), func(*Door) {}, ""},
		{"it expired", byHand("shed", "block"), func(a *Door) {
			time.Sleep(time.Hour)
			a.gate.Turn(10, a.gate.Now(), time.Now()) // every tenth turn clears out flags
		}, api.EventFlagCleared},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := newDoor(t)
				if tt.before != nil {
					tt.before(a)
					a.live.publish(a.gate.Now())
				}
				if got := a.published(t, tt.then); strings.Join(got, " ") != tt.want {
					t.Errorf("%q, want %q", got, tt.want)
				}
			})
		})
	}
}

// TestRatiosDoNotFlood checks that a key whose ratio varies makes one event.
func TestRatiosDoNotFlood(t *testing.T) {
	t.Parallel()
	a := newDoor(t)
	for n := range mitigation.Ratio(50) {
		a.flagRatio("shed", mitigation.MaxRatio/2+n%2*mitigation.RatioStep/2)
		gatetest.Decide(a.gate, a.gate.Now(), gate.Check, "shed", "k", 1)
		a.live.publish(a.gate.Now())
	}
	if sent := a.live.sent.Load(); sent != 1 {
		t.Errorf("%d events", sent)
	}
}
