//go:build !race

package front

import (
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/setup"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// TestFrontGone: without a daemon everything passes, at once.
func TestFrontGone(t *testing.T) {
	eachFront(t, func(t *testing.T, f front) {
		n := startFrontNode(t, frontRules)
		s := f.before(t, nil, n.at(f, setup.DefaultTimeout.String())...)
		s.get("/") // a connection that is kept
		n.end()
		s.checkOpen(30 * time.Millisecond)
	})
}

// TestFrontHangs: while the daemon hangs everything passes within the timeout. When it goes on,
// nothing that was asked meanwhile counts twice.
func TestFrontHangs(t *testing.T) {
	eachFront(t, func(t *testing.T, f front) {
		n := startFrontNode(t, frontRules)
		s := f.before(t, nil, n.at(f, setup.DefaultTimeout.String())...)
		s.get("/")
		n.pause()
		asked := 1 + s.checkOpen(100*time.Millisecond)
		n.signal(syscall.SIGCONT)
		edgetest.Await(t, "the limit holds again", edgetest.Patience, func() bool {
			asked++
			return s.get("/").StatusCode == http.StatusTooManyRequests
		})
		if got := n.offered("127.0.0.1"); got > int64(asked) {
			t.Errorf("of %d requests %d were counted", asked, got)
		}
	})
}

// checkOpen checks that all of some requests pass, most of them within a time and each within a
// second, and returns how many they were.
func (s *frontSite) checkOpen(within time.Duration) (asked int) {
	s.Helper()
	edgetest.Within(s, "the median of the requests, each within a second", within,
		func() time.Duration {
			median, slowest := s.timeOpen()
			asked += openRequests
			if slowest > time.Second {
				return slowest
			}
			return median
		})
	return asked
}

// openRequests is how many requests timeOpen makes.
const openRequests = 4 * frontLimit

// timeOpen checks that requests with and without a body pass, and returns how long the median and
// the slowest took.
func (s *frontSite) timeOpen() (median, slowest time.Duration) {
	s.Helper()
	var took []time.Duration
	for len(took) < openRequests {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			r := s.do(method, "/", strings.NewReader("four"))
			if r.StatusCode != http.StatusOK || len(r.Header.Values("RateLimit")) != 0 ||
				r.body != "the page, for 4 bytes\n" {
				s.Errorf("%s: %d, %v, %q", method, r.StatusCode, r.Header, r.body)
			}
			took = append(took, r.took)
		}
	}
	slices.Sort(took)
	s.Logf("open: median %v, slowest %v", took[openRequests/2], took[openRequests-1])
	return took[openRequests/2], took[openRequests-1]
}

// TestFrontUnknownRule: a rule that the daemon does not have limits no client.
func TestFrontUnknownRule(t *testing.T) {
	eachFront(t, func(t *testing.T, f front) {
		if f.whole {
			return // which names no rule
		}
		n := startFrontNode(t, frontRules)
		s := f.before(t, nil, append(n.at(f, patient), "--rule", "another")...)
		for range 2 * frontLimit {
			if r := s.get("/"); r.StatusCode != http.StatusOK {
				t.Errorf("%d, %v", r.StatusCode, r.Header)
			}
		}
	})
}

// TestFrontClosed: with the change that the comments name, nothing passes while the daemon hangs or
// is gone, and no refusal by the limit is mistaken for one of these.
func TestFrontClosed(t *testing.T) {
	eachFront(t, func(t *testing.T, f front) {
		n := startFrontNode(t, frontRules)
		s := f.before(t, []edit{f.closed}, n.at(f, setup.DefaultTimeout.String())...)
		// a busy machine may be late
		passed := func() bool { return s.get("/").StatusCode == http.StatusOK }
		edgetest.Await(t, "requests pass", edgetest.Patience, passed)
		n.pause()
		s.checkClosed()
		n.signal(syscall.SIGCONT)
		edgetest.Await(t, "the limit holds", edgetest.Patience, func() bool {
			return s.get("/").StatusCode == http.StatusTooManyRequests
		})
		n.end()
		s.checkClosed()
	})
}

// checkClosed checks that nothing passes, and that each client learns it within a second.
func (s *frontSite) checkClosed() {
	s.Helper()
	served := s.served.Load()
	edgetest.Within(s, "the slowest request", time.Second, func() (slowest time.Duration) {
		for range 3 {
			r := s.get("/")
			if r.StatusCode < http.StatusBadGateway || r.StatusCode > http.StatusGatewayTimeout {
				s.Errorf("without headgate: %d", r.StatusCode)
			}
			slowest = max(slowest, r.took)
		}
		return slowest
	})
	if now := s.served.Load(); now != served {
		s.Errorf("the site served %d", now-served)
	}
}

// TestFrontUnixSocket: the question may go through a unix socket.
func TestFrontUnixSocket(t *testing.T) {
	eachFront(t, func(t *testing.T, f front) {
		if f.snippet == "caddy" {
			return // which cannot, as init reports
		}
		n := startFrontNode(t, frontRules)
		at := n.dir + "/http"
		if strings.Contains(f.door, "datagrams") {
			at = n.dir + "/udp"
		}
		if strings.Contains(f.door, "SPOP") {
			at = n.dir + "/spop"
		}
		s := f.before(t, nil, "--timeout", patient, "--address", "unix:"+at)
		for range frontLimit {
			if r := s.get("/"); r.StatusCode != http.StatusOK {
				t.Errorf("below the limit: %d", r.StatusCode)
			}
		}
		if r := s.get("/"); r.StatusCode != http.StatusTooManyRequests {
			t.Errorf("past the limit: %d", r.StatusCode)
		}
	})
}
