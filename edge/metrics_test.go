package edge

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
)

// scrape returns the lines of /metrics without comments.
func scrape(t testing.TB, a *Admin) []string {
	t.Helper()
	w := a.ask("GET", "/metrics", "")
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	var lines []string
	for line := range strings.Lines(w.Body.String()) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}

// metricsDoors are doors with something to tell.
func metricsDoors() Doors {
	u, h := &UDP{}, newHTTP(newFakeJudge(), testLimits())
	for n, c := range []interface{ Add(uint64) uint64 }{
		&u.stats[0].packets, &u.stats[1].lines, &u.stats[0].malformed, &u.stats[0].unknown, &u.stats[0].tooLong,
		&u.stats[0].unanswered, &u.stats[0].sendFailed, &h.accepted, &h.rejected, &h.refused, &h.cut,
	} {
		c.Add(uint64(n) + 1)
	}
	return Doors{UDP: []*UDP{u, u}, HTTP: []*HTTP{h}}
}

// metricsLines are what TestMetricsValues makes happen.
var metricsLines = []string{
	`headgate_requests_total{decision="allow",reason="",rule="shed"} 4`,
	`headgate_requests_total{decision="deny",reason="limit",rule="shed"} 2`,
	`headgate_requests_total{decision="count",reason="",rule="shed"} 1`,
	`headgate_requests_total{decision="deny",reason="block",rule="block"} 1`,
	`headgate_requests_total{decision="deny",reason="shed",rule="block"} 0`,
	`headgate_requests_total{decision="shadow_deny",reason="",rule="shadow"} 2`,
	`headgate_requests_total{decision="allow",reason="",rule="off"} 0`,
	`headgate_cost_total{result="offered",rule="shed"} 10`,
	`headgate_cost_total{result="admitted",rule="shed"} 8`,
	`headgate_cost_total{result="refused",rule="shed"} 2`,
	`headgate_cost_total{result="refused",rule="shadow"} 0`,
	`headgate_rule_limit{rule="shed"} 3`,
	`headgate_rule_window_seconds{rule="shed"} 10`,
	`headgate_rule_mode{mode="shadow",rule="shadow"} 1`,
	`headgate_rule_mode{mode="enforce",rule="shed"} 1`,
	`headgate_rule_refused_keys{rule="shed"} 1`,
	`headgate_rule_refused_keys{rule="shadow"} 1`,
	`headgate_rule_refused_keys{rule="off"} 0`,
	`headgate_flags 3`,
	`headgate_suspects 5`,
	`headgate_suspects_evicted_total{why="idle"} 0`,
	`headgate_promotion_divisor 1e+09`,
	`headgate_clock_steps_total 2`,
	`headgate_sketch_noise{percentile="99",window="10s"} 0`,
	`headgate_sketch_saturated{window="10s"} 0`,
	`headgate_config_last_reload_successful 1`,
	`headgate_build_info{goversion="go1",version="v1"} 1`,
	`headgate_udp_packets_total 2`,
	`headgate_udp_lines_total 4`,
	`headgate_udp_malformed_total{code="bad-request"} 6`,
	`headgate_udp_malformed_total{code="unknown-rule"} 8`,
	`headgate_udp_malformed_total{code="too-long"} 10`,
	`headgate_udp_unanswered_total{why="unsendable"} 12`,
	`headgate_udp_unanswered_total{why="kernel"} 14`,
	`headgate_http_accepted_connections_total 8`,
	`headgate_http_rejected_connections_total 9`,
	`headgate_http_refused_requests_total 10`,
	`headgate_http_cut_requests_total 11`,
	`headgate_http_open_connections 0`,
}

// TestMetricsValues checks that what happened is what the metrics say.
func TestMetricsValues(t *testing.T) {
	t.Parallel()
	a := newTestAdmin(t, AdminOptions{Local: true, Doors: metricsDoors(), Build: Build{Version: "v1", Go: "go1"}})
	for _, rule := range []string{"shed", "block", "shadow", "off"} {
		a.refuse(rule, "203.0.113.7")
	}
	a.edge.askAt(a.edge.Now(), wire.Count, "shed", "k", 2)
	a.edge.askAt(a.edge.Now(), wire.Check, "shed", "k2", 3)
	a.edge.steps.seen.Add(2)
	got := strings.Join(scrape(t, a), "\n") + "\n"
	for _, want := range metricsLines {
		if !strings.Contains(got, want+"\n") {
			name, _, _ := strings.Cut(want, "{")
			t.Errorf("no %s in\n%s", want, strings.Join(regexp.MustCompile(name+".*").FindAllString(got, -1), "\n"))
		}
	}
	if strings.Contains(got, "203.0.113.7") {
		t.Error("a key in a label")
	}
}

// TestMetricsReload checks what a bad configuration shows.
func TestMetricsReload(t *testing.T) {
	t.Parallel()
	a := newTestAdmin(t, AdminOptions{Local: true})
	start := a.edge.started
	bad := func() (config.Config, error) { return config.Config{}, errors.New("a fault") }
	if err := a.edge.Reload(start.Add(time.Hour), bad); err == nil {
		t.Fatal("no error")
	}
	got := strings.Join(scrape(t, a), "\n")
	for _, want := range []string{
		"headgate_config_last_reload_successful 0",
		"headgate_config_last_reload_success_timestamp_seconds " + strconv.FormatFloat(float64(start.UnixMilli())/1e3, 'g', -1, 64),
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s", want)
		}
	}
}

// TestMetricsSeries checks how many series there are, for no rule, the built-in ones, and as many as there
// may be with as many window lengths.
func TestMetricsSeries(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, 8, mitigation.MaxRules} {
		rules := make([]mitigation.Rule, n)
		for i := range rules {
			rules[i] = mitigation.Rule{
				Name: fmt.Sprintf("rule-%d", i), Limit: 1 + int64(i), Window: time.Duration(1+i) * time.Second,
			}
		}
		a := NewAdmin(newTestEdge(t, 4<<20, rules...), AdminOptions{Local: true, Doors: metricsDoors()})
		own := 0
		lines := scrape(t, a)
		for _, line := range lines {
			if strings.HasPrefix(line, "headgate_") {
				own++
			}
		}
		if bound := 50 + 20*n; own > bound || n == mitigation.MaxRules && len(lines) > bound {
			t.Errorf("%d rules: %d series of ours, %d in all; at most %d", n, own, len(lines), bound)
		}
	}
}

// TestMetricsLint checks names, help and units as Prometheus would have them.
func TestMetricsLint(t *testing.T) {
	t.Parallel()
	a := newTestAdmin(t, AdminOptions{Local: true, Doors: metricsDoors()})
	problems, err := promlint.New(bytes.NewReader(a.ask("GET", "/metrics", "").Body.Bytes())).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// TestMetricsConsistent checks that a registry that looks closely finds every family described, with the
// labels it was described with.
func TestMetricsConsistent(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewPedanticRegistry()
	a := newTestAdmin(t, AdminOptions{Local: true, Registry: reg, Doors: metricsDoors()})
	a.refuse("shed", "k")
	if _, err := reg.Gather(); err != nil {
		t.Error(err)
	}
}

// TestMetricsWhileReloading checks scrapes beside requests and changes of the rules.
func TestMetricsWhileReloading(t *testing.T) {
	t.Parallel()
	a := newTestAdmin(t, AdminOptions{Local: true})
	var working sync.WaitGroup
	for n := range 3 {
		working.Go(func() {
			for i := range 100 {
				switch n {
				case 0:
					a.edge.askAt(a.edge.Now(), wire.Check, "shed", fmt.Sprint(i), 1)
				case 1:
					a.edge.SetMode("", mitigation.Mode(i%3))
				default:
					if w := a.ask("GET", "/metrics", ""); w.Code != http.StatusOK {
						t.Errorf("status %d: %s", w.Code, w.Body)
					}
				}
			}
		})
	}
	working.Wait()
}
