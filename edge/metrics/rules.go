package metrics

import (
	"math"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/prometheus/client_golang/prometheus"
)

// ruleMetrics are the families that have at least one series for each rule.
type ruleMetrics struct {
	requests, cost, limit, window, mode, keys, refusedKeys metric
	burst, delay, delayed, waits                           metric // of buckets
}

// newRuleMetrics returns the families. The label decision is allow, deny, shadow_deny or count;
// reason is block, shed, limit, reserve or other_rule for a denial, else empty; result is offered,
// admitted or denied; mode is enforce, shadow or off.
func newRuleMetrics() ruleMetrics {
	return ruleMetrics{
		requests: counterOf("requests_total", "Requests by decision and reason. A shadow_deny was allowed only because its rule is in shadow mode.",
			"rule", "decision", "reason"),
		cost: counterOf("cost_total", "Cost of requests by result. Offered is the sum of admitted, denied, withheld (another rule of the request denied it), and the cost allowed only because of shadow mode.",
			"rule", "result"),
		limit:  gaugeOf("rule_limit", "Cost that the rule admits to one key in any window; of a bucket, the cost that comes back in a window; of kind concurrency, the places of one key.", "rule"),
		window: gaugeOf("rule_window_seconds", "Length of the rule's trailing window; of a bucket, the time in which its limit comes back.", "rule"),
		burst: gaugeOf("rule_burst",
			"Most cost that the bucket of one key admits at once.", "rule"),
		delay: gaugeOf("rule_delay_seconds",
			"Time for which a request may have to wait for its tokens.", "rule"),
		delayed: counterOf("delayed_requests_total",
			"Requests that were allowed for later: the answer has a delay.", "rule"),
		waits: counterOf("delays_seconds_total",
			"Sum of the delays of such requests.", "rule"),
		mode: gaugeOf("rule_mode",
			"Always 1; the label mode is the mode of the rule.", "rule", "mode"),
		keys:        gaugeOf("rule_keys", "Estimated number of distinct keys since the last change of the limit, the window or the enforcement of the rule.", "rule"),
		refusedKeys: gaugeOf("rule_denied_keys", "Estimated number of distinct keys denied at least once since the last change of the limit, the window or the enforcement of the rule; in shadow mode, keys that enforcement would have denied.", "rule"),
	}
}

// all returns the families, for Describe.
func (m *ruleMetrics) all() []metric {
	return []metric{
		m.requests, m.cost, m.limit, m.window, m.mode, m.keys, m.refusedKeys, m.burst,
		m.delay, m.delayed, m.waits,
	}
}

// outcomeLabels are the values of the labels decision and reason, by outcome.
// Two labels and not one: a sum over decision="deny" needs no list of grounds, which grows.
var outcomeLabels = [gate.Outcomes][2]string{
	gate.OutcomeAllowed:  {"allow", ""},
	gate.OutcomeBlocked:  {"deny", "block"},
	gate.OutcomeShed:     {"deny", "shed"},
	gate.OutcomeLimited:  {"deny", "limit"},
	gate.OutcomeReserved: {"deny", "reserve"},
	gate.OutcomeShadowed: {"shadow_deny", ""},
	gate.OutcomeCounted:  {"count", ""},
	gate.OutcomeWithheld: {"deny", "other_rule"},
}

// collect sends the values of one rule. Every outcome has a series from the start, so that a rate
// over its first increment is right.
func (m *ruleMetrics) collect(to chan<- prometheus.Metric, f *gate.Figures) {
	for o, labels := range outcomeLabels {
		if gate.Outcome(o) == gate.OutcomeReserved && len(f.Reserve) == 0 { // below Outcomes
			continue
		}
		m.requests.set(to, float64(f.Totals.Requests[o]), f.Name, labels[0], labels[1])
	}
	m.cost.set(to, float64(f.Totals.Offered()), f.Name, "offered")
	m.cost.set(to, float64(f.Totals.Admitted()), f.Name, "admitted")
	m.cost.set(to, float64(f.Totals.Refused()), f.Name, "denied")
	m.cost.set(to, float64(f.Totals.Cost[gate.OutcomeWithheld]), f.Name, "withheld")
	m.limit.set(to, float64(f.Limit), f.Name)
	// Places have no window: they are taken until they are given back.
	if f.Kind != mitigation.Concurrency {
		m.window.set(to, f.Window.Seconds(), f.Name)
	}
	m.collectBucket(to, f)
	// One series, of the present mode: the one before ends, as a dashboard is to show no rule
	// twice.
	m.mode.set(to, 1, f.Name, f.Mode.String())
	// An estimate (see edge/gate): its digits behind the point would look like precision.
	m.keys.set(to, math.Round(f.Keys), f.Name)
	m.refusedKeys.set(to, math.Round(f.RefusedKeys), f.Name)
}

// rows returns figures, those of a row in common summed up under its name, with the limit of the
// first.
func (s *Sources) rows(figures []gate.Figures) []gate.Figures {
	if s.Row == nil {
		return figures
	}
	rows, at := make([]gate.Figures, 0, len(figures)), map[string]int{}
	for _, f := range figures {
		name := s.Row(f.Name)
		n, known := at[name]
		if !known {
			if name != "" {
				f.Name, at[name] = name, len(rows)
			}
			rows = append(rows, f)
			continue
		}
		sum := &rows[n]
		for o := range f.Totals.Requests {
			sum.Totals.Requests[o] += f.Totals.Requests[o]
			sum.Totals.Cost[o] += f.Totals.Cost[o]
		}
		sum.Keys, sum.RefusedKeys = sum.Keys+f.Keys, sum.RefusedKeys+f.RefusedKeys
	}
	return rows
}

// collectBucket sends the values of a rule that is a bucket.
func (m *ruleMetrics) collectBucket(to chan<- prometheus.Metric, f *gate.Figures) {
	if f.Kind != mitigation.Bucket {
		return
	}
	m.burst.set(to, float64(f.Burst), f.Name)
	if f.Delay > 0 {
		m.delay.set(to, f.Delay.Seconds(), f.Name)
		m.delayed.set(to, float64(f.Delayed), f.Name)
		m.waits.set(to, f.Waits.Seconds(), f.Name)
	}
}

// flagOf returns 1 for true and 0 for false, as Prometheus has no booleans.
func flagOf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
