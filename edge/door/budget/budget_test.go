package budget_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/edge/door/budget"
)

// TestBudget checks that heads are never refused, that bodies wait for room and then go without,
// and that returned bytes wake a waiter.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(100)
		b.AddHead(1000)
		if !b.Take(60) || !b.Take(40) {
			t.Fatal("no room within the limit")
		}
		began := time.Now()
		if b.Take(1) || time.Since(began) != budget.Wait {
			t.Errorf("room beyond the limit, after %v", time.Since(began))
		}
		for range 2 {
			go func() {
				time.Sleep(budget.Wait / 2)
				b.Give(50)
			}()
		}
		first, second := b.Take(30), b.Take(30)
		if !first || !second || time.Since(began) != budget.Wait*3/2 {
			t.Errorf("woken after %v", time.Since(began))
		}
		if got, refused := b.Used(), b.Refused(); got != 1060 || refused != 1 {
			t.Errorf("%d used, %d refused", got, refused)
		}
	})
}

// TestLoan: what a connection took is given back in parts or at once, and what it did not get is
// not.
func TestLoan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(100)
		l := budget.Loan{From: b}
		if !l.Add(70) || !l.Add(-10) || l.Add(50) || b.Used() != 60 {
			t.Errorf("%d used", b.Used())
		}
		if l.Return(); b.Used() != 0 {
			t.Errorf("%d used after the end", b.Used())
		}
	})
}

// TestBudgetTrim checks that memory is worth giving back once, when much was under way and is not
// any more.
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
