package coordinator

import (
	"testing"

	"github.com/headgate-dev/headgate/window"
)

// TestCountingAloneKeepsPeriods: cost that a node reports after its period's end, or all at once
// for two periods, is counted in the period it belongs to.
func TestCountingAloneKeepsPeriods(t *testing.T) {
	var seen window.Totals
	addTotals(&seen, &window.Totals{
		Period: 20,
		By:     [window.Periods]window.PeriodTotals{{Offered: 5, Admitted: 4, Times: 40}},
	}, true)
	addTotals(&seen, &window.Totals{
		Period: 21,
		By: [window.Periods]window.PeriodTotals{
			{Offered: 1},
			{Offered: 20, Admitted: 2, Times: 7},
		},
	}, true)
	addTotals(
		&seen,
		&window.Totals{Period: 20, By: [window.Periods]window.PeriodTotals{{Offered: 300}}},
		true,
	)
	for period, want := range map[uint32]window.PeriodTotals{
		21: {Offered: 1},
		20: {Offered: 325, Admitted: 6, Times: 47},
	} {
		if got := seen.At(period); got != want {
			t.Errorf("period %d: %+v, want %+v", period, got, want)
		}
	}
}

// TestAdmissionsHaveRoom: more than a small limit can see stays the most that has room.
func TestAdmissionsHaveRoom(t *testing.T) {
	is := window.Totals{Period: 7}
	is.By[0] = window.PeriodTotals{Offered: 9, Admitted: 3, Times: 12_000}
	is.By[1] = window.PeriodTotals{Offered: 1 << 40, Admitted: 1 << 40, Times: 1 << 52}
	a := admissionsOf(&is)
	got := a.totals()
	few := window.PeriodTotals{Offered: 3, Admitted: 3, Times: 12_000}
	if got.Period != 7 || got.By[0] != few ||
		got.By[1].Admitted < 1<<19 || got.By[1].Times > got.By[1].Admitted*window.TimeParts {
		t.Errorf("%+v", got)
	}
}
