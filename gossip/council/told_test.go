package council

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// A count that grew is told at once, however little the rate is that moved with it: a limit of 5 a minute is full before
// the rate of its requests comes near half of it.
func TestCountsAreToldFarFromTheLimit(t *testing.T) {
	few := mitigation.Rule{Name: "r", Limit: 5, Window: time.Minute, Scope: mitigation.Global}
	f := newFleet(t, few, 1, 1)
	c, now := f.order[0].Council, f.now
	was := mitigation.View{Sum: 0.016, Limit: few.PerSecond(), Others: window.Totals{Period: 100}}
	is := was
	is.Sum, is.Others.By[0] = 0.033, window.Told{Offered: 1, Admitted: 1}
	told := reply{view: was, at: now.Add(-100 * time.Millisecond)}
	if !c.differs(now, id{few.Name, "k"}, &told, is, viewEvery) {
		t.Error("an admission elsewhere is not told")
	}
	is.Others = was.Others
	if c.differs(now, id{few.Name, "k"}, &told, is, viewEvery) {
		t.Error("a rate far from its limit is told at once")
	}
}
