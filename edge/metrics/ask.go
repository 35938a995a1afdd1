package metrics

import (
	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/latency"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/window"
)

// askFamilies are the families of whole requests; policy is bounded by the configuration.
var askFamilies = []family{
	{"policy_matches_total", "policy", "Requests that the policy matched."},
	{
		"policy_denials_total", "policy why",
		"Requests that the policy, or a rule that it asks, denied, by reason.",
	},
	{
		"policy_shadow_denials_total", "policy",
		"Requests that passed only because the policy or its rule is in shadow mode.",
	},
	{
		"match_duration_seconds", "",
		"Time to find the policies that a request matches and the keys that they ask. One " +
			"request in 256 is measured.",
	},
	{
		"response_duration_seconds", "",
		"Time that requests took, as reported. Where all are below a hundredth of a second, or " +
			"above ten, a proxy may report another unit.",
	},
	{
		"report_times_ignored_total", "",
		"Times of reports in ms with a point, as files of earlier versions sent seconds.",
	},
	{"policy_reports_total", "policy", "Reports of requests that the policy asked about."},
	{"tickets", "", "Tickets that wait for the report of a response."},
	{"tickets_dropped_total", "", "Tickets dropped for newer ones, unreported."},
	{"pending", "", "Requests that may count by their responses, and have not been reported."},
	{"pending_expired_total", "", "Such requests that no report ended in time."},
	{"reports_late_total", "", "Reports of tickets that are unknown, used or too old."},
	{
		"questions_dropped_total", "",
		"Questions of requests that matched more than 16 limits; the first 16 are asked.",
	},
	{
		"bad_costs_total", "",
		"Costs of requests that were not one number and counted as the most that the policy " +
			"allows.",
	},
	{
		"client_unreadable_total", "",
		"Requests with a list of addresses that could not be read to its end.",
	},
	{
		"fields_unreadable_total", "",
		"Fields by which a proxy said what it knows of a request, and that cannot be read.",
	},
	{"sets_bytes", "", "Memory of the sets in force, in bytes."},
	{"unfit_total", "door why", "Requests that are longer, or have more parts, than is read."},
}

// collectReports sends the figures of reports.
func collectReports(to scrape, room *ask.Room, oddTimes uint64) {
	var took latency.Sum
	room.AddResponses(&took)
	to.putLatency("response_duration_seconds", &took)
	put(to, "report_times_ignored_total", oddTimes)
	for _, f := range room.Figures() {
		put(to, "policy_reports_total", f.Reports, f.Name)
	}
}

// collectAsk sends the values of a room with policies.
func collectAsk(to scrape, room *ask.Room, now window.Instant) {
	var sets int64
	// Without policies there is nothing to match, and a histogram of nothing would say "0 s".
	if room.Engine() != nil {
		var took latency.Sum
		sets = room.Engine().Bytes()
		room.AddMatching(&took)
		to.putLatency("match_duration_seconds", &took)
		collectReports(to, room, room.Stats(now).OddTimes)
	}
	for _, f := range room.Figures() {
		put(to, "policy_matches_total", f.Matched, f.Name)
		// Every reason at once, so a series is there before its first denial.
		f.Denied.ByReason(func(why string, n uint64) {
			put(to, "policy_denials_total", n, f.Name,
				why)
		})
		put(to, "policy_shadow_denials_total", f.Shadow, f.Name)
	}
	put(to, "sets_bytes", sets)
	s := room.Stats(now)
	put(to, "tickets", s.Tickets)
	put(to, "pending", s.Pending)
	put(to, "pending_expired_total", s.PendingExpired)
	put(to, "tickets_dropped_total", s.TicketsDropped)
	put(to, "reports_late_total", s.Late)
	put(to, "questions_dropped_total", s.QuestionsDropped)
	put(to, "bad_costs_total", s.BadCosts)
	put(to, "client_unreadable_total", s.UnreadableClients)
	put(to, "fields_unreadable_total", s.UnreadableFields)
	for door := ask.HTTP; door < ask.Doors; door++ {
		put(to, "unfit_total", s.Unfit[door][request.UnfitTarget], door.String(), "target")
		put(to, "unfit_total", s.Unfit[door][request.UnfitHeaders], door.String(), "headers")
	}
}
