package control_test

import (
	"fmt"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// Two PoPs offer 15,000 and 5,000 a second of a limit of 10,000: both shed half of it.
func Example() {
	rule := mitigation.Rule{Name: "login", Limit: 10_000, Window: time.Second, Scope: mitigation.Global}
	owner := control.NewAggregate(rule)
	now := window.Instant(time.Hour)
	const maxOrigins = 10
	owner.Merge(now, "ams", control.Report{Rate: 15_000, Over: time.Second}, maxOrigins)
	owner.Merge(now, "lhr", control.Report{Rate: 5_000, Over: time.Second}, maxOrigins)
	owner.Step(now, 0)
	now = now.Add(2500 * time.Millisecond) // for 2 s after a leap 4.5 % less passes
	owner.Step(now, 0)

	view := owner.View(now, "ams")
	fmt.Printf("sum %.0f, own part %.0f, shed %t\n", view.Sum, view.EchoRate, view.Shed)
	fmt.Printf("ratio %.2f\n", view.Ratio(15_000, time.Second).Float())
	fmt.Printf("ratio after growth to 25000: %.2f\n", view.Ratio(25_000, time.Second).Float())
	// Output:
	// sum 20000, own part 15000, shed true
	// ratio 0.50
	// ratio after growth to 25000: 0.67
}
