//go:build soak && !race

package front

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"
)

// TestFrontOverhead measures the time that the question to the daemon adds to a request: one client
// sends one request after the other to a proxy with the snippet and to the same proxy without it,
// in turns.
func TestFrontOverhead(t *testing.T) {
	const warm, each = 500, 3000
	eachFront(t, func(t *testing.T, f front) {
		n := startFrontNode(t, frontFree)
		s := f.before(t, nil, n.at(f, patient)...)
		var guarded, bare []time.Duration
		for i := range warm + each {
			g, b := s.time(s.port), s.time(s.bare)
			if i >= warm {
				guarded, bare = append(guarded, g), append(bare, b)
			}
		}
		slices.Sort(guarded)
		slices.Sort(bare)
		at := func(all []time.Duration, share float64) time.Duration {
			return all[int(share*float64(len(all)))].Round(time.Microsecond)
		}
		t.Logf("%-12s guarded p50 %v p99 %v, bare p50 %v p99 %v: more by p50 %v p99 %v", f.name,
			at(guarded, 0.5), at(guarded, 0.99), at(bare, 0.5), at(bare, 0.99),
			at(guarded, 0.5)-at(bare, 0.5), at(guarded, 0.99)-at(bare, 0.99))
		if got := n.offered("127.0.0.1"); got < warm+each {
			t.Errorf("only %d of %d requests were counted", got, warm+each)
		}
	})
}

// time returns how long one request took.
func (s *frontSite) time(port int) time.Duration {
	s.Helper()
	began := time.Now()
	resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/", port))
	if err != nil {
		s.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		s.Fatal(resp.Status)
	}
	return time.Since(began)
}
