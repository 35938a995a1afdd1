package totals_test

import (
	"testing"

	"github.com/headgate-dev/headgate/edge/gate/totals"
)

// TestTotals: every outcome is offered, and counts in the one sum that it belongs to.
func TestTotals(t *testing.T) {
	t.Parallel()
	for o := range totals.Outcomes {
		var tally totals.Tally
		tally.Note(o, 2, 5)
		tally.Note(o, 1, 0)
		var sum totals.Totals
		tally.AddTo(&sum)
		tally.AddTo(&sum)
		if sum.Requests[o] != 6 || sum.Cost[o] != 16 || sum.Offered() != 16 {
			t.Errorf("outcome %d: %+v, offered %d", o, sum, sum.Offered())
		}
		requests, would := sum.WouldRefuse()
		admitted, refused := sum.Admitted(), sum.Refused()
		switch o {
		case totals.Allowed, totals.Counted:
			if admitted != 16 || refused+would+requests != 0 {
				t.Errorf("outcome %d: admitted %d, refused %d, would refuse %d", o,
					admitted, refused, would)
			}
		case totals.Shadowed:
			if requests != 6 || would != 16 || admitted+refused != 0 {
				t.Errorf("shadowed: admitted %d, refused %d, would refuse %d of %d requests",
					admitted, refused, would, requests)
			}
		case totals.Withheld, totals.Beside:
			if admitted+refused+would != 0 {
				t.Errorf("withheld: admitted %d, refused %d, would refuse %d",
					admitted, refused, would)
			}
		default:
			if refused != 16 || would != 16 || admitted != 0 {
				t.Errorf("outcome %d: admitted %d, refused %d, would refuse %d", o,
					admitted, refused, would)
			}
		}
	}
}
