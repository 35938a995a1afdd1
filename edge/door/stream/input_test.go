package stream_test

import (
	"bytes"
	"testing"
	"testing/synctest"

	"github.com/headgate-dev/headgate/edge/door/budget"
	"github.com/headgate-dev/headgate/edge/door/stream"
)

// TestInput: a unit of any length up to the most comes whole, what is above the first buffer is
// lent while it lasts, and where there is none for a while Fit says so.
func TestInput(t *testing.T) {
	const first, most = 4 << 10, 15_000
	synctest.Test(t, func(t *testing.T) {
		bytesLent := budget.New(most - first)
		in := stream.Input{Loan: budget.Loan{From: bytesLent}, Most: most}
		feed := func(unit []byte) {
			for len(unit) > 0 {
				n := copy(in.Room(), unit)
				in.Arrived(n)
				if unit = unit[n:]; !in.Fit() {
					t.Fatal("no room")
				}
			}
		}
		for _, size := range []int{1, first - 1, first + 1, 3 * first, most - 1} {
			unit := bytes.Repeat([]byte{byte(size)}, size)
			feed(unit)
			if !bytes.Equal(in.Received(), unit) || (size > first) != (bytesLent.Used() > 0) {
				t.Errorf("%d bytes of %d, %d lent", len(in.Received()), size, bytesLent.Used())
			}
			feed([]byte("rest")[:min(4, most-1-size)])
			in.Use(size)
			if got := string(in.Received()); got != "rest"[:min(4, most-1-size)] {
				t.Errorf("%q is left", got)
			}
			in.Use(len(in.Received()))
			if !in.Fit() || bytesLent.Used() != 0 || len(in.Room()) != first {
				t.Errorf("%d bytes lent after the end", bytesLent.Used())
			}
		}
		if !bytesLent.Take(most - first) {
			t.Fatal("not all was given back")
		}
		in.Arrived(len(in.Room()))
		if in.Fit() {
			t.Error("room that is not there")
		}
	})
}
