//go:build !race

package front

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
)

// queue is what became of requests that came at once: how many were denied, and when the others
// passed, after the first came.
type queue struct {
	denied int
	passed []time.Duration
	took   time.Duration // for all to come
}

// nearTo reports whether the others pass at the same times, but for within.
func (q *queue) nearTo(o *queue, within time.Duration) bool {
	return slices.EqualFunc(q.passed, o.passed,
		func(a, b time.Duration) bool { return (a - b).Abs() < within })
}

// TestDelayBesideNginx: a bucket with a delay is nginx's limit_req with burst and without nodelay.
// Of eight requests at once the same number passes, and nginx answers each when the delay that
// headgate announces is over.
func TestDelayBesideNginx(t *testing.T) {
	t.Parallel()
	limitReq := startLimitReq(t, "rate=2r/s", "burst=5")
	n := startFrontNode(t, "rules: [{name: q, limit: 2, window: 1s, burst: 1, delay: 2500ms}]\n")
	for try := range 8 { // a machine that stalls proves nothing
		key := fmt.Sprint("k", try)
		theirs, ours := askAtOnce(t, limitReq+key, 8), headgateQueue(t, n.Node, key)
		t.Logf("nginx %+v", theirs)
		t.Logf("headgate %+v", ours)
		const token = 500 * time.Millisecond
		if theirs.took+ours.took > token/2 {
			continue
		}
		if theirs.denied != 2 || ours.denied != 2 {
			t.Fatalf("nginx denied %d of 8, headgate %d", theirs.denied, ours.denied)
		}
		if theirs.nearTo(&ours, 2*token/5) {
			return
		}
	}
	t.Error("in no run did nginx answer when headgate's delays are over")
}

// askAtOnce asks for url so many times at once. Denied is a 429, and nginx's 503.
func askAtOnce(t *testing.T, url string, times int) (q queue) {
	t.Helper()
	var all sync.WaitGroup
	var mu sync.Mutex
	began := time.Now()
	for range times {
		all.Go(func() {
			resp, err := http.Get(url) //nolint:noctx,gosec // of a test
			if err != nil {
				t.Error(err)
				return
			}
			_ = resp.Body.Close()
			mu.Lock()
			defer mu.Unlock()
			switch resp.StatusCode {
			case http.StatusOK:
				q.passed = append(q.passed, time.Since(began))
			case http.StatusTooManyRequests, http.StatusServiceUnavailable:
				q.denied++
				q.took = max(q.took, time.Since(began)) // nginx denies at once
			default:
				t.Error(resp.Status)
			}
		})
	}
	all.Wait()
	slices.Sort(q.passed)
	return q
}

// headgateQueue asks for key eight times in a row.
func headgateQueue(t *testing.T, n *systemtest.Node, key string) (q queue) {
	t.Helper()
	began := time.Now()
	for range 8 {
		reply, delay := n.Line("check q "+key+" delay=ok"), 0
		if _, after, found := strings.Cut(reply, "delay="); found {
			_, _ = fmt.Sscan(after, &delay)
		}
		if q.took = time.Since(began); !strings.HasPrefix(reply, "allow") {
			q.denied++
			continue
		}
		q.passed = append(q.passed, q.took+time.Duration(delay)*time.Millisecond)
	}
	return q
}
