package metrics

import (
	"math"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
)

// ruleFamilies are the families of rules: decision is allow, deny, shadow_deny or count; reason is
// block, shed, limit, reserve or
// other_rule for a denial, else empty; result is offered, admitted or denied; mode is enforce,
// shadow or off.
var ruleFamilies = []family{
	{
		"requests_total", "rule decision reason",
		"Requests by decision and reason. A shadow_deny was allowed only because its rule is " +
			"in shadow mode.",
	},
	{
		"cost_total", "rule result",
		"Cost of requests by result. Offered is the sum of admitted, denied, withheld (another " +
			"rule of the request denied it), and the cost allowed only because of shadow mode.",
	},
	{
		"rule_limit", "rule",
		"Cost that the rule admits to one key in any window; of a bucket, the cost that comes " +
			"back in a window; of kind concurrency, the places of one key.",
	},
	{
		"rule_window_seconds", "rule",
		"Length of the rule's trailing window; of a bucket, the time in which its limit comes " +
			"back.",
	},
	{"rule_burst", "rule", "Most cost that the bucket of one key admits at once."},
	{"rule_delay_seconds", "rule", "Time for which a request may have to wait for its tokens."},
	{
		"delayed_requests_total", "rule",
		"Requests that were allowed for later: the answer has a delay.",
	},
	{"delays_seconds_total", "rule", "Sum of the delays of such requests."},
	{"rule_mode", "rule mode", "Always 1; the label mode is the mode of the rule."},
	{
		"rule_keys", "rule",
		"Estimated number of distinct keys since the last change of the limit, the window or " +
			"the enforcement of the rule.",
	},
	{
		"rule_denied_keys", "rule",
		"Estimated number of distinct keys denied at least once since the last change of the " +
			"limit, the window or the enforcement of the rule; in shadow mode, keys that " +
			"enforcement would have denied.",
	},
}

// outcomeLabels are the values of the labels decision and reason, by outcome. Two labels: a sum
// over decision="deny" needs no list of grounds, which grows.
var outcomeLabels = [gate.OutcomeBeside][2]string{
	gate.OutcomeAllowed:   {"allow", ""},
	gate.OutcomeBlocked:   {"deny", "block"},
	gate.OutcomeShed:      {"deny", "shed"},
	gate.OutcomeLimited:   {"deny", "limit"},
	gate.OutcomeReserved:  {"deny", "reserve"},
	gate.OutcomeUndecided: {"deny", "pending"},
	gate.OutcomeExcessive: {"deny", "cost"},
	gate.OutcomeShadowed:  {"shadow_deny", ""},
	gate.OutcomeCounted:   {"count", ""},
	gate.OutcomeWithheld:  {"deny", "other_rule"},
}

// collectRule sends the values of a rule. Every outcome has a series from the start, so a rate over
// its first increment is right.
func collectRule(to scrape, f *gate.Figures) {
	for o, labels := range outcomeLabels {
		is := gate.Outcome(o) // below Outcomes
		if is == gate.OutcomeReserved && len(f.Reserve) == 0 ||
			is == gate.OutcomeUndecided && f.Totals.Requests[o] == 0 {
			continue
		}
		n := f.Totals.Requests[o]
		if is == gate.OutcomeWithheld {
			n += f.Totals.Requests[gate.OutcomeBeside]
		}
		put(to, "requests_total", n, f.Name, labels[0], labels[1])
	}
	unit := float64(f.Parts())
	put(to, "cost_total", float64(f.Totals.Offered())/unit, f.Name, "offered")
	put(to, "cost_total", float64(f.Totals.Admitted())/unit, f.Name, "admitted")
	put(to, "cost_total", float64(f.Totals.Refused())/unit, f.Name, "denied")
	put(to, "cost_total", float64(f.Totals.Withheld())/unit, f.Name, "withheld")
	put(to, "rule_limit", f.Units(f.Limit), f.Name)
	// Places have no window: they are taken until they are given back.
	if f.Kind != mitigation.Concurrency {
		put(to, "rule_window_seconds", f.Window.Seconds(), f.Name)
	}
	collectBucket(to, f)
	// A single series, of the present mode: the old series ends, as a dashboard is to show no rule
	// twice.
	put(to, "rule_mode", 1, f.Name, f.Mode.String())
	// An estimate (see edge/gate): its digits behind the point would look like precision.
	put(to, "rule_keys", math.Round(f.Keys), f.Name)
	put(to, "rule_denied_keys", math.Round(f.RefusedKeys), f.Name)
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
func collectBucket(to scrape, f *gate.Figures) {
	if f.Kind != mitigation.Bucket {
		return
	}
	put(to, "rule_burst", f.Units(f.Burst), f.Name)
	if f.Delay > 0 {
		put(to, "rule_delay_seconds", f.Delay.Seconds(), f.Name)
		put(to, "delayed_requests_total", f.Delayed, f.Name)
		put(to, "delays_seconds_total", f.Waits.Seconds(), f.Name)
	}
}

// flagOf returns 1 for true and 0 for false, as Prometheus has no booleans.
func flagOf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
