package metrics

import (
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/headgate-dev/headgate/edge/door/http"
	"github.com/headgate-dev/headgate/edge/door/udp"
)

// counted is a collector of figures that no test brings about at real doors: thousands of
// connections, or slow clients.
type counted struct {
	descriptions
	udp  []udp.Stats
	http []http.Stats
}

func (c *counted) Collect(out chan<- prometheus.Metric) {
	to := scrape{c.descriptions, out}
	collectUDP(to, sum(c.udp))
	collectHTTP(to, sum(c.http))
	collectAbandoned(to, map[string]func() uint64{"http": func() uint64 { return 5 }})
}

// number gives every field of a struct a number of its own, from 1.
func number[T any]() (s T) {
	for n, v := 0, reflect.ValueOf(&s).Elem(); n < v.NumField(); n++ {
		if f := v.Field(n); f.CanUint() {
			f.SetUint(uint64(n) + 1)
		} else {
			f.SetInt(int64(n) + 1)
		}
	}
	return s
}

// doorValues are the sums over two doors, of whose figures the first is 1, the second 2 and so on.
const doorValues = `headgate_udp_packets_total 2
headgate_udp_lines_total 4
headgate_udp_malformed_total{code="bad-request"} 6
headgate_udp_malformed_total{code="unknown-rule"} 8
headgate_udp_malformed_total{code="too-long"} 10
headgate_udp_unanswered_total{why="unsendable"} 12
headgate_udp_unanswered_total{why="kernel"} 14
headgate_udp_batched_replies_total 16
headgate_udp_segmentation_refused_total 18
headgate_udp_reader_yields_total 20
headgate_http_accepted_connections_total 2
headgate_http_rejected_connections_total 4
headgate_http_refused_requests_total 6
headgate_http_malformed_total{code="unknown-rule"} 8
headgate_http_malformed_total{code="too-long"} 10
headgate_http_malformed_total{code="bad-request"} 12
headgate_http_cut_requests_total 14
headgate_door_refused_total 16
headgate_door_bytes 18
headgate_orphans_total{door="http"} 20
headgate_http_open_connections 22
headgate_abandoned_connections_total{listener="http"} 5
`

// TestDoorMetrics checks that each figure of a door has its metric, and that those of several doors
// are added up.
func TestDoorMetrics(t *testing.T) {
	t.Parallel()
	u, h := number[udp.Stats](), number[http.Stats]()
	c := &counted{describe(doorFamilies), []udp.Stats{u, u}, []http.Stats{h, h}}
	reg, w := prometheus.NewRegistry(), httptest.NewRecorder()
	reg.MustRegister(c)
	promhttp.HandlerFor(reg, promhttp.HandlerOpts{}).ServeHTTP(w,
		httptest.NewRequest("GET", "/metrics", nil))
	got := w.Body.String()
	for want := range strings.Lines(doorValues) {
		if !strings.Contains(got, "\n"+want) {
			t.Errorf("no %sin\n%s", want, got)
		}
	}
	if n := strings.Count(got, "\nheadgate_"); n != strings.Count(doorValues, "\n") {
		t.Errorf("%d series", n)
	}
}
