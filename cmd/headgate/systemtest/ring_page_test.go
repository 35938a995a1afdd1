//go:build !race

package systemtest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// The bounds of a daemon's growth while servers fail. A healthy one grows by nearly as much in its
// first minutes: half of its memory is one block, so up to some 10 MiB of small garbage gather
// between two runs of the collector; the heap after each run stays at 23 to 26 MB (GOGC=10
// GODEBUG=gctrace=1, three minutes of requests over a ring of three).
const (
	moreGoroutines = 2 * 3 // two a server
	moreResident   = 12 << 20
)

// page gets one of the daemon's pages of JSON.
func page[T any](n *ringNode, path string) (view T) {
	n.Helper()
	body := n.get(path)
	if err := json.Unmarshal([]byte(body), &view); err != nil {
		n.Fatalf("%s: %v: %s", path, err, body)
	}
	return view
}

func (n *ringNode) explain(rule, key string) api.ExplainView {
	n.Helper()
	return page[api.ExplainView](n,
		"/v1/explain?rule="+url.QueryEscape(rule)+"&key="+url.QueryEscape(key))
}

// get gets one of the daemon's pages.
func (n *ringNode) get(path string) string {
	n.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), edgetest.Patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.admin+path, nil)
	if err != nil {
		n.Fatal(err)
	}
	door := &http.Transport{DialContext: n.at.dial}
	defer door.CloseIdleConnections()
	resp, err := (&http.Client{Transport: door}).Do(req)
	if err != nil {
		n.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // only read from
	var text strings.Builder
	if _, err := bufio.NewReader(resp.Body).WriteTo(&text); err != nil ||
		resp.StatusCode != http.StatusOK {
		n.Fatalf("%s: %s, %v: %s", path, resp.Status, err, text.String())
	}
	return text.String()
}

// metrics returns the values of the daemon's series whose names, with labels, begin with prefix.
func (n *ringNode) metrics(prefix string) map[string]float64 {
	n.Helper()
	found := map[string]float64{}
	for line := range strings.Lines(n.get("/metrics")) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || !strings.HasPrefix(name, prefix) {
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			n.Fatalf("%q: %v", line, err)
		}
		found[name] = v
	}
	return found
}

// weight is a daemon's use of the machine.
type weight struct{ goroutines, resident float64 }

func (w weight) String() string {
	return fmt.Sprintf("%.0f goroutines, %.1f MiB", w.goroutines, w.resident/(1<<20))
}

func weigh(t testing.TB, nodes []*ringNode) (all []weight) {
	t.Helper()
	for _, n := range nodes {
		const goroutines, resident = "go_goroutines", "process_resident_memory_bytes"
		all = append(all, weight{n.metrics(goroutines)[goroutines], n.metrics(resident)[resident]})
	}
	return all
}

// compareWeights fails the test if a daemon has grown.
func compareWeights(t testing.TB, before, after []weight) {
	t.Helper()
	for n := range before {
		t.Logf("edge-%d: before %v, after %v", n+1, before[n], after[n])
		if after[n].goroutines > before[n].goroutines+moreGoroutines ||
			after[n].resident > before[n].resident+moreResident {
			t.Errorf("edge-%d has grown", n+1)
		}
	}
}
