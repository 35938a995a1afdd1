package control_test

import (
	"fmt"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// Two PoPs offer 15,000 and 4,000 a second of a limit of 10,000: the second one asks for less than
// half and gets it, the first one gets the rest.
func Example() {
	rule := mitigation.Rule{
		Name: "login", Limit: 10_000, Window: time.Second,
		Scope: mitigation.Global,
	}
	owner := control.NewAggregate(&rule)
	now := window.Instant(time.Hour)
	const maxOrigins = 10
	// the second before
	counts := window.Totals{
		Period: 3599,
		By:     [window.Periods]window.PeriodTotals{{Offered: 15_000}},
	}
	owner.Merge(now, "ams", control.Report{Rate: 15_000, Over: time.Second, Totals: counts},
		maxOrigins)
	owner.Merge(now, "lhr", control.Report{Rate: 4_000, Over: time.Second}, maxOrigins)
	owner.Step(now, 0)
	now = now.Add(2500 * time.Millisecond) // for 2 s after a leap 4.5 % less passes
	owner.Step(now, 0)

	view := owner.View(now, "ams")
	fmt.Printf("sum %.0f, own part %.0f, shed %t, may admit %.0f\n", view.Sum, view.EchoRate,
		view.Shed, view.Share)
	fmt.Printf("ratio %.2f\n", view.Ratio(15_000, time.Second).Float())
	fmt.Printf("ratio after growth to 25000: %.2f\n", view.Ratio(25_000, time.Second).Float())
	fmt.Printf("ratio in the other PoP: %.2f\n",
		owner.View(now, "lhr").Ratio(4_000, time.Second).Float())
	// Output:
	// sum 19000, own part 15000, shed true, may admit 6000
	// ratio 0.60
	// ratio after growth to 25000: 0.76
	// ratio in the other PoP: 0.00
}
