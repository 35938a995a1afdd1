package coordinator

import (
	"testing"

	"github.com/headgate-dev/headgate/window"
)

// TestCountingAloneKeepsPeriods: cost that a node reports after its period's end, or all at once
// for two periods, is counted in the period it belongs to.
func TestCountingAloneKeepsPeriods(t *testing.T) {
	var l local
	l.count(&window.Totals{
		Period: 20,
		By:     [window.Periods]window.PeriodTotals{{Offered: 5, Admitted: 4, Times: 40}},
	})
	l.count(&window.Totals{
		Period: 21,
		By: [window.Periods]window.PeriodTotals{
			{Offered: 1},
			{Offered: 20, Admitted: 2, Times: 7},
		},
	})
	l.count(&window.Totals{Period: 20, By: [window.Periods]window.PeriodTotals{{Offered: 300}}})
	for period, want := range map[uint32]window.PeriodTotals{
		21: {Offered: 1},
		20: {Offered: 325, Admitted: 6, Times: 47},
	} {
		if got := l.report.Totals.At(period); got != want {
			t.Errorf("period %d: %+v, want %+v", period, got, want)
		}
	}
}
