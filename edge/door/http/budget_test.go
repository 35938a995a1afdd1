package http

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestByteBudget checks that heads are never refused, that bodies wait for room and then go without, and that
// returned bytes wake a waiter.
func TestByteBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newByteBudget(100)
		b.addHead(1000)
		if !b.take(60, time.Second) || !b.take(40, time.Second) {
			t.Fatal("no room within the limit")
		}
		began := time.Now()
		if b.take(1, time.Second) || time.Since(began) != time.Second {
			t.Errorf("room beyond the limit, after %v", time.Since(began))
		}
		for range 2 {
			go func() {
				time.Sleep(time.Minute)
				b.give(50)
			}()
		}
		if !b.take(30, time.Hour) || !b.take(30, time.Hour) || time.Since(began) != time.Second+time.Minute {
			t.Errorf("woken after %v", time.Since(began))
		}
		if got, refused := b.used(), b.refused.Load(); got != 1060 || refused != 1 {
			t.Errorf("%d used, %d refused", got, refused)
		}
	})
}

// TestByteBudgetTrim checks that memory is worth giving back once, when much was under way and is not any more.
func TestByteBudgetTrim(t *testing.T) {
	b := newByteBudget(maxHTTPBytes)
	if b.trimmable() {
		t.Error("nothing was under way")
	}
	b.addHead(20 << 20)
	if b.trimmable() {
		t.Error("all is still under way")
	}
	b.addHead(-20 << 20)
	if !b.trimmable() || b.trimmable() {
		t.Error("not exactly once")
	}
}
