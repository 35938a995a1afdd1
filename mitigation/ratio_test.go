package mitigation

import (
	"testing"
	"time"
)

func TestByLoss(t *testing.T) {
	for mode, want := range map[FailureMode]struct {
		ruling Ruling
		why    Why
	}{FailLocal: {AskCount, Unrefused}, FailAllow: {LetPass, Unrefused}, FailDeny: {
		Stop,
		ByLimit,
	}} {
		if ruling, why := ByLoss(&Rule{FailureMode: mode}); ruling != want.ruling ||
			why != want.why {
			t.Errorf("%v: %v, %v", mode, ruling, why)
		}
	}
}

// TestOnlyTheRatioMoves: a flag whose ratio is set anew has stood since it was first set.
func TestOnlyTheRatioMoves(t *testing.T) {
	table := NewTable(1 << 16)
	f := flag(1, Shed, Ring, time.Second)
	table.Put(now, f)
	later := f
	later.Ratio, later.Since = 7, now.Add(time.Second/2)
	table.Put(now.Add(time.Second/2), later)
	if got, ok := table.Find(now, f.Index); !ok || got.Since != f.Since || got.Ratio != 7 {
		t.Errorf("%+v, %v", got, ok)
	}
}
