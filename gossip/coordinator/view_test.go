package coordinator

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// viewOf is a view in which other PoPs have admitted that much of a limit of which so much is left.
func viewOf(admitted, left int64) *viewState {
	v := control.GlobalView{Others: window.Totals{
		Period: 7,
		By:     [window.Periods]window.PeriodTotals{{Offered: admitted, Admitted: admitted}},
	}}
	return &viewState{GlobalView: v, Left: left}
}

// sentOf is what the receiver of a view has of it.
func sentOf(v *viewState) *sentView { s := v.sent(); return &s }

// TestAViewLacksAtMostHalfOfWhatIsLeft: where counts alone deny, with 50 PoPs and 600.
func TestAViewLacksAtMostHalfOfWhatIsLeft(t *testing.T) {
	rule := mitigation.Rule{Limit: 600, Window: time.Minute}
	for _, c := range []struct {
		was, is, left int64
		want          bool
	}{
		{0, 150, 400, false},
		{0, 200, 400, true},
		{500, 520, 50, false},
		{500, 525, 50, true},
		{580, 582, 4, false}, // no finer than a two hundredth of the limit
		{580, 583, 4, true},
		{595, 597, 0, true},
		{595, 597, -3, false}, // it knows that nothing is left
		{600, 600, 0, false},
	} {
		is := viewOf(c.is, c.left)
		if got := sentOf(viewOf(c.was, 0)).differs(is, stepTerms{
			Rule: &rule, PoPs: 50, Load: 1,
			ByCounts: true,
		}); got != c.want {
			t.Errorf("%d, now %d, and %d are left: sent %v", c.was, c.is, c.left, got)
		}
	}
}

// TestRatesWaitWhereCountsDeny: elsewhere a sum that moves by 2 % is sent.
func TestRatesWaitWhereCountsDeny(t *testing.T) {
	rule := mitigation.Rule{Limit: 600, Window: time.Minute}
	was, is := viewOf(5, 500), viewOf(5, 500)
	was.Sum, is.Sum, was.Limit, is.Limit = 20, 21, 10, 10
	for byCounts, want := range map[bool]bool{true: false, false: true} {
		if got := sentOf(was).differs(is,
			stepTerms{Rule: &rule, PoPs: 3, Load: 1, ByCounts: byCounts}); got != want {
			t.Errorf("by counts %v: sent %v", byCounts, got)
		}
	}
}
