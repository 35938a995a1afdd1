package gate_test

import (
	"testing"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
)

// TestCostZeroMeansOne compares a gate that is asked at cost 0 with one that is asked at cost 1.
func TestCostZeroMeansOne(t *testing.T) {
	zero, one := gatetest.New(t, 1<<20, gatetest.Shed), gatetest.New(t, 1<<20, gatetest.Shed)
	at, at1 := zero.Now(), one.Now()
	ops := []gate.Op{
		gate.Check, gate.Peek, gate.Count, gate.Peek, gate.Check,
		gate.Peek, gate.Check,
	}
	for n, op := range ops {
		got, want := gatetest.Decide(zero, at, op, "shed", "k", 0),
			gatetest.Decide(one, at1, op, "shed", "k", 1)
		if got != want {
			t.Errorf("step %d: cost 0 decides %+v, cost 1 %+v", n, got, want)
		}
	}
	if d := gatetest.Decide(zero, at, gate.Check, "shed", "k", 0); !d.Deny {
		t.Error("four requests of cost 0 passed a limit of 3")
	}
	if got := zero.Offered(at, []byte("shed"),
		[]byte("k")); got != one.Offered(at1, []byte("shed"), []byte("k"))+1 {
		t.Errorf("%d are counted as offered, want one more than %d", got,
			one.Offered(at1, []byte("shed"), []byte("k")))
	}
}
