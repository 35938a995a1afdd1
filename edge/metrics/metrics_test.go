package metrics_test

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/metrics"
	"github.com/headgate-dev/headgate/mitigation"
)

// metricsLines are the samples after the requests of TestMetricsValues.
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
	`headgate_cost_total{result="denied",rule="shed"} 2`,
	`headgate_cost_total{result="denied",rule="shadow"} 0`,
	`headgate_rule_limit{rule="shed"} 3`,
	`headgate_rule_window_seconds{rule="shed"} 10`,
	`headgate_rule_mode{mode="shadow",rule="shadow"} 1`,
	`headgate_rule_mode{mode="enforce",rule="shed"} 1`,
	`headgate_rule_denied_keys{rule="shed"} 1`,
	`headgate_rule_denied_keys{rule="shadow"} 1`,
	`headgate_rule_denied_keys{rule="off"} 0`,
	`headgate_flags 3`,
	`headgate_suspects 5`,
	`headgate_suspects_evicted_total{why="idle"} 0`,
	`headgate_suspects_evicted_total{why="pinned"} 0`,
	`headgate_promotion_divisor 1e+09`,
	`headgate_clock_steps_total 2`,
	`headgate_sketch_noise{percentile="99",window="10s"} 0`,
	`headgate_sketch_saturated{window="10s"} 0`,
	`headgate_config_last_reload_successful 1`,
	`headgate_build_info{goversion="go1",version="v1"} 1`,
	`headgate_udp_packets_total 4`,
	`headgate_udp_lines_total 4`,
	`headgate_udp_malformed_total{code="unknown-rule"} 2`,
	`headgate_http_accepted_connections_total 2`,
	`headgate_http_refused_requests_total 2`,
	`headgate_http_malformed_total{code="unknown-rule"} 2`,
	`headgate_http_open_connections 0`,
	`headgate_door_bytes 0`,
}

// TestMetricsValues checks the samples after a few requests.
func TestMetricsValues(t *testing.T) {
	t.Parallel()
	from := sources(t, fourRules(t))
	from.Build = api.Build{Version: "v1", Go: "go1"}
	a := newNode(from)
	for _, rule := range []string{"shed", "block", "shadow", "off"} {
		refuse(a.gate, rule, "203.0.113.7")
	}
	gatetest.Decide(a.gate, a.gate.Now(), gate.Count, "shed", "k", 2)
	gatetest.Decide(a.gate, a.gate.Now(), gate.Check, "shed", "k2", 3)
	now := time.Now()
	// the first look only notes how the clocks stand
	for _, jump := range []time.Duration{0, time.Hour, 0} {
		a.gate.Turn(1, a.gate.At(now), now.Add(jump))
	}
	got := strings.Join(a.scrape(t), "\n") + "\n"
	for _, want := range metricsLines {
		if !strings.Contains(got, want+"\n") {
			name, _, _ := strings.Cut(want, "{")
			t.Errorf("no %s in\n%s", want,
				strings.Join(regexp.MustCompile(name+".*").FindAllString(got, -1), "\n"))
		}
	}
	if strings.Contains(got, "203.0.113.7") {
		t.Error("a key in a label")
	}
}

// TestMetricsReload checks the samples after a bad configuration.
func TestMetricsReload(t *testing.T) {
	t.Parallel()
	a := newNode(metrics.Sources{Gate: fourRules(t)})
	start := a.gate.Started()
	a.gate.RefuseReload(errors.New("a fault"))
	got := strings.Join(a.scrape(t), "\n")
	for _, want := range []string{
		"headgate_config_last_reload_successful 0",
		"headgate_config_last_reload_success_timestamp_seconds " +
			strconv.FormatFloat(float64(start.UnixMilli())/1e3, 'g', -1, 64),
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s", want)
		}
	}
}

// TestMetricsSeries checks how many series there are, for no rule, the built-in ones, and as many
// as there may be with as many window lengths.
func TestMetricsSeries(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, 8, mitigation.MaxRules} {
		rules := make([]mitigation.Rule, n)
		for i := range rules {
			rules[i] = mitigation.Rule{
				Name: fmt.Sprintf("rule-%d", i), Limit: 1 + int64(i),
				Window: time.Duration(1+i) * time.Second,
			}
		}
		a := newNode(sources(t, gatetest.New(t, 4<<20, rules...)))
		own, lines := len(a.lines(t, "headgate_")), a.scrape(t)
		if bound := 91 + 23*n; own > bound || n == mitigation.MaxRules && len(lines) > bound {
			t.Errorf("%d rules: %d series of ours, %d in all; at most %d", n,
				own, len(lines), bound)
		}
	}
}

// TestMetricsLint checks names, help and units as Prometheus would have them.
func TestMetricsLint(t *testing.T) {
	t.Parallel()
	newNode(sources(t, fourRules(t))).lint(t)
}

// TestMetricsConsistent checks that a registry that looks closely finds every family described,
// with the labels it was described with.
func TestMetricsConsistent(t *testing.T) {
	t.Parallel()
	a := newCheckedNode(sources(t, fourRules(t)))
	refuse(a.gate, "shed", "k")
	if _, err := a.reg.Gather(); err != nil {
		t.Error(err)
	}
}

// TestMetricsWhileReloading checks scrapes beside requests and changes of the rules.
func TestMetricsWhileReloading(t *testing.T) {
	t.Parallel()
	a := newNode(metrics.Sources{Gate: fourRules(t)})
	var working sync.WaitGroup
	for n := range 3 {
		working.Go(func() {
			for i := range 100 {
				switch n {
				case 0:
					gatetest.Decide(a.gate, a.gate.Now(), gate.Check, "shed", fmt.Sprint(i), 1)
				case 1:
					a.gate.SetMode("", mitigation.Mode(i%3))
				default:
					if _, err := a.reg.Gather(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	working.Wait()
}
