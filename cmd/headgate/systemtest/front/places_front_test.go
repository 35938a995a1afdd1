//go:build !race

package front

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// placesPolicies allow two uploads at a time of one client. A place is free after so many seconds
// at the latest.
const placesPolicies = `
rules: []
policies:
  - {name: uploads, match: {path: "/upload/**"}, key: client, kind: concurrency, limit: 2, lease: %ds}
`

// upload is a request that lasts until its body ends.
type upload struct {
	body   *io.PipeWriter
	status chan int
}

// upload begins one through the proxy.
func (s *frontSite) upload() *upload {
	s.Helper()
	from, to := io.Pipe()
	u := &upload{to, make(chan int, 1)}
	req, err := http.NewRequestWithContext(s.Context(), http.MethodPost,
		"http://"+systemtest.Address(s.port)+"/upload/1", from)
	if err != nil {
		s.Fatal(err)
	}
	go func() {
		client := http.Client{
			Transport: &http.Transport{DisableKeepAlives: true},
			Timeout:   edgetest.Patience,
		}
		status := 0
		if resp, err := client.Do(req); err == nil {
			status = resp.StatusCode
			_ = resp.Body.Close()
		}
		u.status <- status
	}()
	if _, err := io.WriteString(to, "the first bytes"); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = to.CloseWithError(io.ErrClosedPipe) })
	return u
}

// end ends the body and returns the status of the answer.
func (u *upload) end() int {
	_ = u.body.Close()
	return <-u.status
}

// taken returns how many of the two places of 127.0.0.1 are taken.
func (n *frontNode) taken() int {
	n.Helper()
	conn, err := net.Dial("udp", n.UDP)
	if err != nil {
		n.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // of a test
	_, _ = io.WriteString(conn, "peek uploads 127.0.0.1\n")
	_ = conn.SetReadDeadline(time.Now().Add(edgetest.Patience))
	var room [256]byte
	size, err := conn.Read(room[:])
	if err != nil {
		n.Fatal(err)
	}
	reply, left := string(room[:size]), 0
	if strings.HasPrefix(reply, "allow") {
		if _, err := fmt.Sscanf(reply, "allow remaining=%d", &left); err != nil {
			n.Fatalf("%q: %v", reply, err)
		}
	}
	return 2 - left
}

// awaitTaken waits until that many places are taken, and returns how long that took.
func (n *frontNode) awaitTaken(want int) time.Duration {
	n.Helper()
	return edgetest.Await(n, fmt.Sprint(want, " places are taken"), edgetest.Patience,
		func() bool { return n.taken() == want })
}

// TestFrontPlaces: uploads of a client take places through the real proxies, a third is denied, and
// the line of the access log at the end of a transfer gives its place back.
func TestFrontPlaces(t *testing.T) {
	for _, f := range fronts {
		if !f.whole || f.snippet == "caddy" { // which writes no such log
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			n := startFrontNode(t, fmt.Sprintf(placesPolicies, 60))
			s := f.before(t, nil, n.reporting(f)...)
			first, second := s.upload(), s.upload()
			n.awaitTaken(2)
			third := s.upload()
			if status := <-third.status; status != http.StatusTooManyRequests {
				t.Fatalf("the third upload: %d", status)
			}
			if status := first.end(); status != http.StatusOK {
				t.Fatalf("the first upload: %d", status)
			}
			n.awaitTaken(1)
			fourth := s.upload()
			n.awaitTaken(2)
			if a, b := fourth.end(), second.end(); a != http.StatusOK || b != http.StatusOK {
				t.Errorf("the others: %d and %d", a, b)
			}
			n.awaitTaken(0)
		})
	}
}

// TestFrontPlacesOfADeadProxy: a proxy that is killed gives up all its places within one lease.
func TestFrontPlacesOfADeadProxy(t *testing.T) {
	t.Parallel()
	for _, f := range fronts {
		if f.name == "haproxy" {
			edgetest.Within(t, "the places are free", (shortLease+1)*time.Second,
				func() time.Duration { return freedByDeath(t, f) })
		}
	}
}

// shortLease is in seconds.
const shortLease = 3

// freedByDeath kills a proxy with two uploads under way, and returns how long their places were
// taken afterwards. Where the first upload's lease has ended before the second began there is
// nothing to be measured: the time is too long then.
func freedByDeath(t *testing.T, f front) time.Duration {
	t.Helper()
	n := startFrontNode(t, fmt.Sprintf(placesPolicies, shortLease))
	s := f.before(t, nil, n.reporting(f)...)
	began := time.Now()
	s.upload()
	s.upload()
	for n.taken() != 2 {
		if took := time.Since(began); took > 2*shortLease*time.Second {
			return took
		}
	}
	if err := s.process.Kill(); err != nil { // SIGKILL: no log line is written
		t.Fatal(err)
	}
	return n.awaitTaken(0)
}
