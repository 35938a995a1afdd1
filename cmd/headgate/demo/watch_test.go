package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/cmd/headgate/demo/story"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// admin is an admin listener that answers with the mitigations it is given, and counts the answers.
type admin struct {
	*watch
	answers atomic.Int64
	mu      sync.Mutex
	page    api.MitigationsView
}

func (a *admin) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_ = json.NewEncoder(w).Encode(a.page) // the watch counts it as missed
	a.answers.Add(1)
}

// shows sets the mitigations and waits until the watch has compared them.
func (a *admin) shows(t *testing.T, all ...api.MitigationView) {
	t.Helper()
	a.mu.Lock()
	a.page.Mitigations = all
	a.mu.Unlock()
	before := a.answers.Load()
	edgetest.Await(t, "two more answers", edgetest.Patience,
		func() bool { return a.answers.Load() >= before+2 })
}

// watched returns a running watch over lhr, where an admin listener of the test answers, and over
// fra, where nothing listens.
func watched(t *testing.T) *admin {
	t.Helper()
	a := &admin{}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	var clients []*cli.Client
	for _, at := range []string{strings.TrimPrefix(server.URL, "http://"), "127.0.0.1:1"} {
		client, err := cli.NewClient(at, "")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.Close)
		clients = append(clients, client)
	}
	began := time.Now()
	a.watch = newWatch(clients, func() time.Duration { return time.Since(began) })
	ctx, end := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { a.Run(ctx) })
	t.Cleanup(func() { end(); running.Wait() })
	return a
}

func shed(key, source string, ratio float64) api.MitigationView {
	return api.MitigationView{Rule: "api", Key: key, Action: "shed", Source: source, Ratio: ratio}
}

// A change of a PoP's mitigations is reported once, and each source is remembered for the summary.
func TestChanges(t *testing.T) {
	a := watched(t)
	a.shows(t, shed("x", "self", 0.3))
	a.shows(t, shed("x", "self", 0.6))
	if m, there := a.Of(0, "api", "x"); !there || m.Ratio != 0.6 {
		t.Errorf("the mitigation now: %+v, %v", m, there)
	}
	a.shows(t, shed("x", "gossip:lhr", 0.5))
	a.shows(t)
	if m, there := a.Of(0, "api", "x"); there {
		t.Errorf("a mitigation that was cleared is still there: %+v", m)
	}
	var kinds []string
	for len(a.Changes) > 0 {
		c := <-a.Changes
		kinds = append(kinds, c.Kind+" "+c.Mitigation.Source)
		if c.PoP != 0 || c.At <= 0 {
			t.Errorf("change %+v", c)
		}
	}
	if want := []string{
		"set self",
		"changed gossip:lhr",
		"cleared gossip:lhr",
	}; !slices.Equal(kinds, want) {
		t.Errorf("changes %q, want %q", kinds, want)
	}
	var s story.Summary
	a.Report(&s)
	if len(s.Mitigations) != 2 || s.Mitigations[0].Source != "self" ||
		s.Mitigations[0].Ratio != 0.6 || s.Mitigations[1].Source != "gossip:lhr" {
		t.Fatalf("seen %+v", s.Mitigations)
	}
	if one, other := s.Mitigations[0], s.Mitigations[1]; one.PoP != "lhr" || one.Key != "x" ||
		one.First >= one.Last || one.Last >= other.First {
		t.Errorf("seen %+v", s.Mitigations)
	}
}

// A request that fails is counted, and so is a mitigation for which there is no room.
func TestBounds(t *testing.T) {
	a := watched(t)
	for group := range 3 {
		var all []api.MitigationView
		for n := range 67 {
			all = append(all, shed(fmt.Sprint(group, "-", n), "self", 0.5))
		}
		a.shows(t, all...)
		for len(a.Changes) > 0 {
			<-a.Changes
		}
	}
	var s story.Summary
	edgetest.Await(t, "failed requests are counted", edgetest.Patience, func() bool {
		a.Report(&s)
		return s.Missed > 1
	})
	if len(s.Mitigations) != maxSeen || s.Unkept == 0 {
		t.Errorf("%d seen, %d not kept", len(s.Mitigations), s.Unkept)
	}
}
