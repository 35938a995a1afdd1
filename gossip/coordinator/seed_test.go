package coordinator_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator"
	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// TestASeedIsARun: one seed makes one sequence of bytes, with more keys above their limits than the
// budget can report, nodes that count alone, an owner that is cut off, and members that leave and
// join.
func TestASeedIsARun(t *testing.T) {
	var first []string
	for n := range 3 {
		if got := seededRun(t); n == 0 {
			first = got
		} else if at := firstDifference(first, got); at >= 0 {
			t.Fatalf("run %d is another one from its %d. batch of 50 ms on, of %d",
				n+1, at+1, len(first))
		}
	}
}

// firstDifference returns the first index at which two lists of one length differ, -1 for none.
func firstDifference(a, b []string) int {
	for n := range a {
		if a[n] != b[n] {
			return n
		}
	}
	return -1
}

// seededRun runs a fleet, and returns a checksum of the packets up to the end of each batch.
func seededRun(t *testing.T) (sums []string) {
	rule := mitigation.Rule{
		Name: "r", Limit: 100, Window: 10 * time.Second,
		Scope: mitigation.Global,
	}
	f := newFleetWithin(t, rule, func(string) int { return 8_000 }, 3, 3, 3)
	f.sent = sha256.New()
	for batch := range 300 {
		switch batch {
		case 100:
			f.cut = func(from, to string) bool { return from == "b1" || to == "b1" }
			f.assign([]byte("secret"), slices.DeleteFunc(slices.Clone(f.members),
				func(m coordinator.Member) bool { return m.Name == "b1" }))
		case 200:
			f.cut = func(string, string) bool { return false }
			f.assign([]byte("secret"), f.members)
		}
		f.crowd(batch, 60)
		f.run(50*time.Millisecond, func(*node) (coordinator.Sample,
			bool,
		) {
			return coordinator.Sample{}, false
		})
		sums = append(sums, fmt.Sprintf("%x", f.sent.Sum(nil)))
	}
	return sums
}

// crowd makes every node measure so many keys, some of them alone.
func (f *fleet) crowd(batch, keys int) {
	if batch%2 != 0 {
		return
	}
	for at, n := range f.order {
		var list []coordinator.Sample
		for k := range keys {
			m := coordinator.Sample{
				Rule:  "r",
				Key:   fmt.Append(nil, k),
				Since: 1,
				Alone: k%5 == 0,
				Report: control.Report{
					Rate: float64(10 + k + at), Admitted: 8, Over: time.Second,
				},
			}
			m.Report.Totals.Period = uint32(int64(f.now) / int64(10*time.Second))
			m.Report.Totals.By[0] = window.PeriodTotals{
				Offered:  int64(batch * (k + 1)),
				Admitted: int64(batch), Times: int64(batch),
			}
			list = append(list, m)
		}
		n.Measure(f.now, f.now.Time(), list)
	}
}

// note adds a packet to the checksum of the run, if there is one, and shows the records
// of a packet to look.
func (f *fleet) note(from, to string, b []byte) {
	if f.sent != nil {
		_, _ = fmt.Fprintf(f.sent, "%s %s %x\n", from, to, b)
	}
	if f.look == nil {
		return
	}
	_, rest, ok := packet.ParseHeader(b)
	for ok && len(rest) > 0 {
		var k packet.Kind
		var body []byte
		if k, body, rest, ok = packet.NextRecord(rest); !ok {
			break
		}
		r, err := packet.ParseRecord(k, body)
		if err != nil {
			f.t.Errorf("%s sends %s a record of kind %d that does not parse", from, to, k)
			continue
		}
		f.look(from, to, &r)
	}
}
