//go:build soak && !race

package together

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	"github.com/headgate-dev/headgate/edge/api"
	hg "github.com/headgate-dev/headgate/edge/client"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// TestWorldSoakLimits sets limits by hand in three PoPs: single changes, a file of 2,000, changes
// on both sides of a partition and beside a node that was killed, and an end to the millisecond.
func TestWorldSoakLimits(t *testing.T) {
	places := openPlaces(t)
	if places == nil {
		return
	}
	l := &limitsLab{startPoPs(t, worldPlan{
		rules:  "rules: [{name: api, limit: 60, window: 1m, scope: global}]\n",
		places: places, nodes: 1, alone: true, state: t.TempDir(),
	}), map[*systemtest.Node]*hg.Client{}}
	l.singleLimits()
	l.manyLimits()
	l.limitsOfTwoSides(30 * time.Second)
	l.limitBesideADeadNode()
	l.limitThatEnds(5 * time.Second)
}

// limitsLab is a world with a client of each node.
type limitsLab struct {
	*worldLab
	clients map[*systemtest.Node]*hg.Client
}

// singleLimits sets 100 limits, one after the other, each at another node.
func (l *limitsLab) singleLimits() {
	l.Helper()
	var waits []time.Duration
	for n := range 100 {
		key, began := fmt.Sprintf("one-%d", n), time.Now()
		l.setLimit(n%len(l.nodes), key, 100+n, time.Hour)
		l.awaitLimit(key, 100+n)
		waits = append(waits, time.Since(began))
	}
	l.Logf("100 changes, in force everywhere: median %v, p99 %v, longest %v", quantile(waits, 0.5),
		quantile(waits, 0.99), quantile(waits, 1))
	if most := quantile(waits, 0.99); most > time.Second {
		l.Errorf("p99 %v, want less than a second", most)
	}
}

// manyLimits sets 2,000 limits in a batch.
func (l *limitsLab) manyLimits() {
	l.Helper()
	const many, bytesASecond, held = 2000, 64 << 10, "headgate_limit_overrides"
	all := make([]api.LimitRequest, many)
	for n := range all {
		all[n] = api.LimitRequest{
			Rule: "api", Key: fmt.Sprintf("many-%d", n), Limit: "70", TTL: "36h", By: "sales",
		}
	}
	sent := func() (sum float64) {
		for _, value := range l.nodes[0].Metrics(`headgate_gossip_bytes_total{direction="out"}`) {
			sum += value
		}
		return sum
	}
	before, began := sent(), time.Now()
	l.postLimits(0, map[string]any{"limits": all})
	took := edgetest.Await(l, "2,000 limits everywhere", 30*time.Second, func() bool {
		for _, n := range l.nodes {
			if n.Metrics(held)[held] < many {
				return false
			}
		}
		return true
	})
	rate := (sent() - before) / time.Since(began).Seconds()
	l.Logf("2,000 limits everywhere after %v, at %.0f bytes a second", took, rate)
	if rate > bytesASecond {
		l.Errorf("%.0f bytes a second, want at most %d", rate, bytesASecond)
	}
	l.awaitLimit("many-1999", 70)
}

// limitsOfTwoSides sets limits on both sides of a partition. The newest wins.
func (l *limitsLab) limitsOfTwoSides(cut time.Duration) {
	l.Helper()
	l.part(2)
	l.setLimit(2, "both", 300, time.Hour)
	systemtest.Hold(l, cut/2)
	l.setLimit(0, "both", 200, time.Hour)
	l.setLimit(2, "far", 400, time.Hour)
	systemtest.Hold(l, cut/2)
	if got := l.left(2, "both"); got != 300 {
		l.Errorf("cut off: %d left, want this side's 300", got)
	}
	l.heal()
	began := time.Now()
	l.awaitLimit("both", 200)
	l.awaitLimit("far", 400)
	l.Logf("healed: the newest everywhere after %v", time.Since(began))
}

// limitBesideADeadNode sets a limit while a node is killed. The node has the limit, and the limits
// from before, when it is back.
func (l *limitsLab) limitBesideADeadNode() {
	l.Helper()
	l.nodes[1].Kill()
	l.setLimit(0, "meanwhile", 500, time.Hour)
	l.restart(l.nodes[1])
	began := time.Now()
	l.awaitLimit("meanwhile", 500)
	l.awaitLimit("both", 200)
	l.Logf("killed and started: in force %v later", time.Since(began))
}

// limitThatEnds asks for a key around the end of its limit.
func (l *limitsLab) limitThatEnds(after time.Duration) {
	l.Helper()
	const slack = 2 * time.Millisecond // times are told in milliseconds, by two clocks of one machine
	end := l.setLimit(0, "short", 90, after).Expires
	l.awaitLimit("short", 90)
	edgetest.Await(l, "the last moments", 2*after, func() bool {
		return time.Until(end) < 200*time.Millisecond
	})
	seen := map[string]int{}
	for time.Since(end) < 200*time.Millisecond {
		for at, n := range l.nodes {
			asked := time.Now()
			left := l.left(at, "short")
			answered := time.Now()
			seen[fmt.Sprintf("%s: %d", n.ID, left)]++
			if left == 90 && asked.After(end.Add(slack)) ||
				left == 60 && answered.Before(end.Add(-slack)) {
				l.Fatalf("%s: %d left %v after the end", n.ID, left, asked.Sub(end))
			}
		}
	}
	l.Logf("around the end, answers by what was left: %v", seen)
	if len(seen) != 2*len(l.nodes) {
		l.Errorf("%v, want 90 and then 60 at each node", seen)
	}
}

// setLimit sets the limit of a key at a node.
func (l *limitsLab) setLimit(at int, key string, limit int, ttl time.Duration) (v api.LimitView) {
	l.Helper()
	answer := l.postLimits(at, api.LimitRequest{
		Rule: "api", Key: key, Limit: fmt.Sprint(limit), TTL: ttl.String(), By: "sales",
	})
	if err := json.Unmarshal([]byte(answer), &v); err != nil {
		l.Fatal(err)
	}
	return v
}

// postLimits sends a node limits by hand, and returns the answer.
func (l *limitsLab) postLimits(at int, request any) string {
	l.Helper()
	body, err := json.Marshal(request)
	if err != nil {
		l.Fatal(err)
	}
	return l.nodes[at].Send(http.MethodPost, "/v1/limits", string(body))
}

// left returns how much of a key's limit is left at a node.
func (l *limitsLab) left(at int, key string) int64 {
	l.Helper()
	n := l.nodes[at]
	if l.clients[n] == nil {
		l.clients[n] = n.Client()
	}
	a, err := l.clients[n].Peek(l.Context(), "api", key, 1)
	if err != nil {
		l.Fatal(err)
	}
	return a.Remaining
}

// awaitLimit waits until all nodes have a limit.
func (l *limitsLab) awaitLimit(key string, limit int) {
	l.Helper()
	for at, n := range l.nodes {
		edgetest.Await(l, n.ID+" has the limit of "+key, edgetest.Patience, func() bool {
			return l.left(at, key) == int64(limit)
		})
	}
}
