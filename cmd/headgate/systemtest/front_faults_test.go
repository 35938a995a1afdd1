//go:build !race

package systemtest

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
		s.checkOpen()
	})
}

// TestFrontHangs: while the daemon hangs everything passes within the timeout. When it goes on, nothing that was asked
// meanwhile counts twice.
func TestFrontHangs(t *testing.T) {
	eachFront(t, func(t *testing.T, f front) {
		n := startFrontNode(t, frontRules)
		s := f.before(t, nil, n.at(f, setup.DefaultTimeout.String())...)
		s.get("/")
		n.pause()
		asked := 1 + s.checkOpen()
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

// checkOpen checks that all of some requests pass, most of them within a second, and returns how many they were. By default
// proxies wait for a minute.
func (s *frontSite) checkOpen() int {
	s.Helper()
	const each = 2 * frontLimit
	var took []time.Duration
	for range each {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			r := s.do(method, "/", strings.NewReader("four"))
			if r.StatusCode != http.StatusOK || len(r.Header.Values("RateLimit")) != 0 || r.body != "the page, for 4 bytes\n" {
				s.Errorf("%s: %d, %v, %q", method, r.StatusCode, r.Header, r.body)
			}
			took = append(took, r.took)
		}
	}
	slices.Sort(took)
	s.Logf("open: median %v, slowest %v", took[each], took[2*each-1])
	if took[each] > time.Second || took[2*each-1] > edgetest.Patience {
		s.Errorf("they took %v", took)
	}
	return 2 * each
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

// TestFrontClosed: with the change that the comments name, nothing passes while the daemon hangs or is gone, and no refusal
// by the limit is mistaken for one of these.
func TestFrontClosed(t *testing.T) {
	eachFront(t, func(t *testing.T, f front) {
		n := startFrontNode(t, frontRules)
		s := f.before(t, []edit{f.closed}, n.at(f, setup.DefaultTimeout.String())...)
		passed := func() bool { return s.get("/").StatusCode == http.StatusOK } // a busy machine may be late
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

// checkClosed checks that nothing passes.
func (s *frontSite) checkClosed() {
	s.Helper()
	served := s.served.Load()
	for range 3 {
		r := s.get("/")
		if r.StatusCode < http.StatusBadGateway || r.StatusCode > http.StatusGatewayTimeout {
			s.Errorf("without headgate: %d", r.StatusCode)
		}
		if r.took > edgetest.Patience { // proxies that time out by default do after a minute
			s.Errorf("it took %v", r.took)
		}
	}
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
