package budget_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/edge/door/budget"
)

// TestBudget checks that heads are never refused, that bodies wait for room and then go without, and that
// returned bytes wake a waiter.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(100)
		b.AddHead(1000)
		if !b.Take(60, time.Second) || !b.Take(40, time.Second) {
			t.Fatal("no room within the limit")
		}
		began := time.Now()
		if b.Take(1, time.Second) || time.Since(began) != time.Second {
			t.Errorf("room beyond the limit, after %v", time.Since(began))
		}
		for range 2 {
			go func() {
				time.Sleep(time.Minute)
				b.Give(50)
			}()
		}
		first, second := b.Take(30, time.Hour), b.Take(30, time.Hour)
		if !first || !second || time.Since(began) != time.Second+time.Minute {
			t.Errorf("woken after %v", time.Since(began))
		}
		if got, refused := b.Used(), b.Refused(); got != 1060 || refused != 1 {
			t.Errorf("%d used, %d refused", got, refused)
		}
	})
}

// TestBudgetTrim checks that memory is worth giving back once, when much was under way and is not any more.
func TestBudgetTrim(t *testing.T) {
	b := budget.New(64 << 20)
	if b.Trimmable() {
		t.Error("nothing was under way")
	}
	b.AddHead(20 << 20)
	if b.Trimmable() {
		t.Error("all is still under way")
	}
	b.AddHead(-20 << 20)
	if !b.Trimmable() || b.Trimmable() {
		t.Error("not exactly once")
	}
}
