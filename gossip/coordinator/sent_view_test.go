package coordinator

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// A count that grew is sent at once, however little the rate is that moved with it: a limit of 5 a
// minute is full before the rate of its requests comes near half of it.
func TestCountsAreSentFarFromTheLimit(t *testing.T) {
	few := mitigation.Rule{Name: "r", Limit: 5, Window: time.Minute, Scope: mitigation.Global}
	f := newFleet(t, few, 1, 1)
	c, now := f.order[0].Coordinator, f.now
	was := control.GlobalView{Sum: 0.016, Limit: few.PerSecond(), Others: window.Totals{Period: 100}}
	is := was
	is.Sum, is.Others.By[0] = 0.033, window.PeriodTotals{Offered: 1, Admitted: 1}
	sent := sentView{view: was, at: now.Add(-100 * time.Millisecond)}
	if !c.differs(now, id{few.Name, "k"}, &sent, is, viewEvery) {
		t.Error("an admission elsewhere is not sent")
	}
	is.Others = was.Others
	if c.differs(now, id{few.Name, "k"}, &sent, is, viewEvery) {
		t.Error("a rate far from its limit is sent at once")
	}
}
