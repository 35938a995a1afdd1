package metrics

import (
	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/latency"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/window"
	"github.com/prometheus/client_golang/prometheus"
)

// askMetrics are the families of whole requests. The label policy is bounded by the configuration.
type askMetrics struct {
	matches, denials, shadows, matching      metric
	tickets, ticketsDropped, late            metric
	pending, pendingExpired                  metric
	questionsDropped, badCosts, badAddresses metric
	badFields, unfit, setBytes               metric
}

// newAskMetrics returns the families.
func newAskMetrics() askMetrics {
	return askMetrics{
		matches: counterOf("policy_matches_total",
			"Requests that the policy matched.", "policy"),
		denials: counterOf("policy_denials_total",
			"Requests that the policy, or a rule that it asks, denied, by reason.", "policy",
			"why"),
		shadows: counterOf("policy_shadow_denials_total",
			"Requests that passed only because the policy or its rule is in shadow mode.",
			"policy"),
		matching: summaryOf("match_duration_seconds", "Time to find the policies that a request matches and the keys that they ask. One request in 256 is measured."),
		tickets:  gaugeOf("tickets", "Tickets that wait for the report of a response."),
		ticketsDropped: counterOf("tickets_dropped_total",
			"Tickets dropped for newer ones, unreported."),
		pending: gaugeOf("pending",
			"Requests that may count by their responses, and have not been reported."),
		pendingExpired: counterOf("pending_expired_total",
			"Such requests that no report ended in time."),
		late: counterOf("reports_late_total",
			"Reports of tickets that are unknown, used or too old."),
		questionsDropped: counterOf("questions_dropped_total",
			"Questions of requests that matched more than 16 limits; the first 16 are asked."),
		badCosts: counterOf("bad_costs_total", "Costs of requests that were not one number and counted as the most that the policy allows."),
		badAddresses: counterOf("client_unreadable_total",
			"Requests with a list of addresses that could not be read to its end."),
		badFields: counterOf("fields_unreadable_total",
			"Fields by which a proxy said what it knows of a request, and that cannot be read."),
		setBytes: gaugeOf("sets_bytes", "Memory of the sets in force, in bytes."),
		unfit: counterOf("unfit_total",
			"Requests that are longer, or have more parts, than is read.", "door", "why"),
	}
}

// all returns the families, for Describe.
func (m *askMetrics) all() []metric {
	return []metric{
		m.matches, m.denials, m.shadows, m.matching, m.tickets, m.ticketsDropped, m.pending,
		m.pendingExpired, m.late,
		m.questionsDropped, m.badCosts, m.badAddresses, m.badFields, m.unfit, m.setBytes,
	}
}

// collect sends the values of a room with policies.
func (m *askMetrics) collect(to chan<- prometheus.Metric, room *ask.Room, now window.Instant) {
	var sets int64
	// Without policies there is nothing to match, and a histogram of nothing would say "0 s".
	if room.Engine() != nil {
		var took latency.Sum
		sets = room.Engine().Bytes()
		room.AddMatching(&took)
		count, sum, below := took.Cumulative()
		to <- prometheus.MustNewConstHistogram(m.matching.desc, count, sum.Seconds(), below)
	}
	for _, f := range room.Figures() {
		m.matches.set(to, float64(f.Matched), f.Name)
		// Every reason at once, so that a series is there before its first denial.
		f.Denied.ByReason(func(why string, n uint64) { m.denials.set(to, float64(n), f.Name, why) })
		m.shadows.set(to, float64(f.Shadow), f.Name)
	}
	m.setBytes.set(to, float64(sets))
	s := room.Stats(now)
	m.tickets.set(to, float64(s.Tickets))
	m.pending.set(to, float64(s.Pending))
	m.pendingExpired.set(to, float64(s.PendingExpired))
	m.ticketsDropped.set(to, float64(s.TicketsDropped))
	m.late.set(to, float64(s.Late))
	m.questionsDropped.set(to, float64(s.QuestionsDropped))
	m.badCosts.set(to, float64(s.BadCosts))
	m.badAddresses.set(to, float64(s.UnreadableClients))
	m.badFields.set(to, float64(s.UnreadableFields))
	for door := ask.HTTP; door < ask.Doors; door++ {
		m.unfit.set(to, float64(s.Unfit[door][request.UnfitTarget]), door.String(), "target")
		m.unfit.set(to, float64(s.Unfit[door][request.UnfitHeaders]), door.String(), "headers")
	}
}
