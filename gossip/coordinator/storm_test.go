package coordinator_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator"
	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/mitigation/control"
)

// TestChangesOfMembersAreNoStorm: when a PoP comes and goes ten times in ten seconds, only reports
// of keys with another owner are sent for it.
func TestChangesOfMembersAreNoStorm(t *testing.T) {
	f := newFleet(t, second, 1, 1, 1)
	reports := 0
	f.look = func(_, to string, r *packet.Record) {
		if r.Kind == packet.Report && to != "x" {
			reports++
		}
	}
	var all []coordinator.Sample
	for k := range 200 {
		all = append(all, coordinator.Sample{
			Rule: "r", Key: fmt.Append(nil, k), Since: 1,
			Report: control.Report{Rate: 9000, Admitted: 9000, Over: time.Second},
		})
	}
	seconds := func(n int, each func(second int)) int {
		reports = 0
		for s := range n {
			each(s)
			for range 20 {
				for _, n := range f.order {
					n.Measure(n.at(f.now), n.wall(f.now), all)
					n.Tick(n.at(f.now), n.wall(f.now))
				}
				f.deliver()
				f.now = f.now.Add(50 * time.Millisecond)
			}
		}
		return reports
	}
	seconds(5, func(int) {})
	calm := seconds(10, func(int) {})
	members := append(f.members[:len(f.members):len(f.members)],
		coordinator.Member{Name: "x", PoP: "x"})
	f.add(second, "x", "x")
	f.order = f.order[:3]
	stormy := seconds(10, func(second int) {
		f.assign([]byte("secret"), members[:3+second%2])
	})
	// The PoP has a quarter of the keys, as owner or as standby half of them.
	if more := stormy - calm; more < 500 || more > 10*len(all)*3/4 {
		t.Errorf("%d reports in ten seconds, with ten changes %d", calm, stormy)
	}
}
