package control

import "github.com/headgate-dev/headgate/window/moments"

// SumReports returns the sum of reports, of nodes each report their own counts alone. Their Over,
// LastSum and TTL are not summed.
func SumReports(all []*Report) (sum Report) {
	for _, r := range all {
		sum.Rate += r.Rate
		sum.Admitted += r.Admitted
		sum.RateOnly = sum.RateOnly || r.RateOnly
		sum.Blocked = max(sum.Blocked, r.Blocked)
		sum.Totals.Roll(r.Totals.Period)
	}
	lists := make([]moments.List, len(all))
	for n, r := range all {
		sum.Totals.Add(&r.Totals)
		lists[n] = r.Moments
	}
	sum.Moments = moments.Sum(lists...)
	return sum
}
