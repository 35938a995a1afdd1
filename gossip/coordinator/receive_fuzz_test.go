package coordinator_test

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator"
	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/mitigation/control"
)

// FuzzReceive feeds a coordinator any bytes from a member, and advances time.
func FuzzReceive(f *testing.F) {
	some := packet.AppendHeader(nil,
		packet.Header{Sender: "b0", Session: 1, Sequence: 1, Issued: 1_800_000_000_000})
	for k := packet.Ask; k < packet.Kinds; k++ {
		some, _ = packet.AppendRecord(some, &packet.Record{
			Kind: k, ID: packet.ID{Rule: "r", Key: "k"}, From: "b",
			Report: control.Report{Rate: 9_000, Over: time.Second},
			View:   control.GlobalView{Sum: 5000, Limit: 1000, Shed: true},
		}, nil)
	}
	f.Add(some)
	f.Add([]byte{})
	f.Add([]byte{coordinator.Version, 2, 'b', '0', 1, 1, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		c := newFleet(t, second, 1, 1)
		n := c.nodes["a0"]
		n.Measure(c.now, c.now.Time(),
			[]coordinator.Sample{{
				Rule: "r", Key: []byte("k"), Since: 1,
				Report: control.Report{Rate: 9_000, Over: time.Second},
			}})
		n.Receive(c.now, c.now.Time(), b)
		h := packet.Header{
			Sender: "b0", Session: 1, Sequence: 1,
			Issued: int64(c.now) / int64(time.Millisecond),
		}
		n.Receive(c.now, c.now.Time(), append(packet.AppendHeader(nil, h), b...))
		for range 3 {
			c.now = c.now.Add(50 * time.Millisecond)
			n.Tick(c.now, c.now.Time())
		}
		if s := n.Stats(); s.Bytes > s.Capacity {
			t.Errorf("%+v", s)
		}
	})
}
