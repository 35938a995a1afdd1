package edge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/edge/live"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
)

// TestEventsAreBounded checks that a flood of flags is told in part, what is set by hand first, and the rest counted; and that
// the log gets a few lines.
func TestEventsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		a := NewAdmin(newTestEdge(t, 16<<20, shedRule, blockRule), AdminOptions{Local: true, Log: slog.New(slog.NewJSONHandler(&log, nil))})
		reader, err := a.live.hub.Join(false, func() {})
		if err != nil {
			t.Fatal(err)
		}
		for n := range 500 {
			a.refuse("block", fmt.Sprint(n))
		}
		a.mustSet(t, `{"rule":"shed","key":"by hand","action":"block"}`)
		log.Reset()
		a.live.turn(1, a.edge.Now())
		var lost LostView
		events := live.NewScanner(bytes.NewReader(<-reader.Frames()))
		for n := range maxEvents {
			e, err := events.Next()
			if err != nil || e.Name != EventFlagSet || n == 0 != bytes.Contains(e.Data, []byte("by hand")) {
				t.Fatalf("event %d: %q %s, %v", n, e.Name, e.Data, err)
			}
		}
		if e, err := events.Next(); err != nil || e.Name != EventLost || json.Unmarshal(e.Data, &lost) != nil {
			t.Fatalf("%q %s, %v", e.Name, e.Data, err)
		}
		if flags := a.edge.flags.Stats(); int64(lost.Events) < flags.Flags-maxEvents || a.live.dropped.Load() != lost.Events || a.live.sent.Load() != maxEvents {
			t.Errorf("lost %+v of %+v", lost, flags)
		}
		if lines := strings.Count(log.String(), "\n"); lines != maxEventLines || !strings.Contains(log.String(), fmt.Sprintf(`"events":%d`, lost.Events+maxEvents-maxEventLines+1)) {
			t.Errorf("%d lines:\n%s", lines, &log)
		}
	})
}

// told returns the names of the events that what then does comes to.
func (a *Admin) told(t *testing.T, then func(*Admin)) (names []string) {
	t.Helper()
	reader, err := a.live.hub.Join(false, func() {})
	if err != nil {
		t.Fatal(err)
	}
	then(a)
	a.live.tell(a.edge.Now())
	a.live.tell(a.edge.Now())
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
		before func(a *Admin)
		then   func(a *Admin)
		want   string
	}{
		{"set twice", nil, func(a *Admin) { a.ask("POST", "/v1/mitigations", block); a.ask("POST", "/v1/mitigations", block) }, EventFlagSet},
		{"set and lifted", nil, func(a *Admin) {
			a.ask("POST", "/v1/mitigations", block)
			a.ask("DELETE", "/v1/mitigations?rule=shed&key=k", "")
		}, EventFlagCleared},
		{"set again", byHand("shed", "allow"), byHand("shed", "block"), EventFlagChanged},
		{"a reload that moves it", byHand("shed", "block"), func(a *Admin) {
			a.edge.setRules([]mitigation.Rule{{Name: "shed", Limit: 3, Window: 20 * time.Second}})
		}, ""},
		{"its rule is gone", byHand("shed", "block"), func(a *Admin) { a.edge.setRules(nil) }, EventFlagCleared},
		{"nothing", byHand("shed", "block"), func(*Admin) {}, ""},
		{"it expired", byHand("shed", "block"), func(a *Admin) {
			time.Sleep(time.Hour)
			a.edge.flags.Sweep(a.edge.Now(), func(*mitigation.Flag) bool { return true })
		}, EventFlagCleared},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := newTestAdmin(t, AdminOptions{Local: true})
				if tt.before != nil {
					tt.before(a)
					a.live.tell(a.edge.Now())
				}
				if got := a.told(t, tt.then); strings.Join(got, " ") != tt.want {
					t.Errorf("%q, want %q", got, tt.want)
				}
			})
		})
	}
}

// TestRatiosDoNotFlood checks that a key whose ratio sways is told of once.
func TestRatiosDoNotFlood(t *testing.T) {
	t.Parallel()
	a := newTestAdmin(t, AdminOptions{Local: true})
	for n := range mitigation.Ratio(50) {
		a.flagRatio("shed", mitigation.MaxRatio/2+n%2*mitigation.RatioStep/2)
		a.edge.askAt(a.edge.Now(), wire.Check, "shed", "k", 1)
		a.live.tell(a.edge.Now())
	}
	if sent := a.live.sent.Load(); sent != 1 {
		t.Errorf("%d events", sent)
	}
}
