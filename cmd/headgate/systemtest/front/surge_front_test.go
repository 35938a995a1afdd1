//go:build !race

package front

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/ask"
	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// crowd makes visits at a rate until stopped.
type crowd struct {
	made, denied atomic.Int64
	stop         func()
}

func (s *frontSite) crowd(perSecond int, one func(*rand.Rand) visit) *crowd {
	c := &crowd{}
	done := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		chance := rand.New(rand.NewPCG(1, uint64(perSecond)))
		tick := time.NewTicker(time.Second / time.Duration(perSecond))
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				is := s.visit(one(chance))
				c.made.Add(1)
				if is.StatusCode == http.StatusTooManyRequests {
					c.denied.Add(1)
				}
			}
		}
	})
	c.stop = sync.OnceFunc(func() { close(done); group.Wait() })
	s.Cleanup(c.stop)
	return c
}

// share returns which share of the visits of the next seconds is denied.
func (c *crowd) share(t *testing.T, d time.Duration) float64 {
	t.Helper()
	made, denied := c.made.Load(), c.denied.Load()
	systemtest.Hold(t, d)
	return float64(c.denied.Load()-denied) / float64(max(1, c.made.Load()-made))
}

// ordinary is a person's visit.
func ordinary(chance *rand.Rand) visit {
	return visit{
		path:   fmt.Sprintf("/page/%d", chance.IntN(30)),
		client: fmt.Sprintf("203.0.%d.%d", chance.IntN(100), chance.IntN(250)),
		header: []string{
			"Accept", "text/html,*/*", "Accept-Language", "en", "User-Agent",
			fmt.Sprintf("Mozilla/5.0 (X11) Firefox/%d", 120+chance.IntN(9)),
		},
	}
}

// flood is a visit of one of many addresses, under one path.
func flood(chance *rand.Rand) visit {
	return visit{
		path: fmt.Sprintf("/search/works/%d?q=%d", chance.IntN(1e6), chance.IntN(1e6)),
		client: fmt.Sprintf("%d.%d.%d.%d", 20+chance.IntN(60), chance.IntN(250), chance.IntN(250),
			chance.IntN(250)),
		header: []string{"User-Agent", fmt.Sprintf("Mozilla/5.0 (X11) Firefox/%d",
			120+chance.IntN(9))},
	}
}

// TestFrontSurge: a flood of many addresses through real nginx is named; its policy counts in
// shadow, denies when enforced, and is gone when undone.
func TestFrontSurge(t *testing.T) {
	t.Parallel()
	f := fronts[0]
	n := startFrontNode(t, `surge: {learn: 10s}
rules: []
policies: [{name: everybody, match: {}, limit: 100000, window: 1m}]
`)
	s := f.before(t, nil, n.at(f, patient)...)
	good := s.crowd(40, ordinary)
	see := func(what string, ok func(api.SurgeView) bool) (v api.SurgeView) {
		t.Helper()
		edgetest.Await(t, what, 2*time.Minute, func() bool {
			v = systemtest.Page[api.SurgeView](n.Node, "/v1/surge")
			return ok(v)
		})
		return v
	}
	see("traffic is learnt", func(v api.SurgeView) bool { return v.State == "quiet" })
	bad := s.crowd(60, flood)
	began := time.Now()
	v := see("the flood is named", func(v api.SurgeView) bool { return v.State == "attack" })
	is := v.Findings[0]
	t.Logf("after %s: %s", time.Since(began).Round(time.Second), is.Sentence)
	if !strings.Contains(is.Sentence, "/search/") || is.Policy == "" || strings.Contains(
		fmt.Sprint(v), "?q=") {
		t.Errorf("%+v", is)
	}
	command := func(want int, args ...string) string {
		t.Helper()
		var out strings.Builder
		code := systemtest.RunCommand(t.Context(), cli.Entry{Build: ask.Surge},
			append(append([]string{"surge"}, args...), "--admin", n.Admin), &out, &out)
		if code != want {
			t.Fatalf("%v: %d, %s", args, code, &out)
		}
		return out.String()
	}
	command(0, "apply", is.ID)
	if share := bad.share(t, 2*time.Second); share > 0 {
		t.Errorf("in shadow %.2f are denied", share)
	}
	see("its shadow counts", func(v api.SurgeView) bool {
		a := v.Findings[0].Applied
		return a != nil && a.Mode == "shadow" && a.Denied > 50
	})
	command(0, "apply", is.ID, "--enforce", "--for", "5m")
	denied, wrong := bad.share(t, 4*time.Second), good.denied.Load()
	if denied < 0.95 || wrong > 0 {
		t.Errorf("%.3f of the flood and %d good visits are denied", denied, wrong)
	}
	if said := command(0); !strings.Contains(said, "in mode enforce") {
		t.Error(said)
	}
	command(0, "undo", is.ID)
	command(1, "undo", is.ID)
	if share := bad.share(t, 2*time.Second); share > 0.1 {
		t.Errorf("undone, %.2f are denied", share)
	}
	command(2, "policy", "000000")
	good.stop()
	bad.stop()
}
