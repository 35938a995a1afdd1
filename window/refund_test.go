package window_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/window"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

// TestRefund: to admit e and take e - a back is to admit a, exactly, whatever came before, for
// windows of every length of log and for buckets. 100,000 requests.
func TestRefund(t *testing.T) {
	edgetest.Alone(t)
	for _, l := range []window.Limit{
		{Limit: 1, Window: time.Second},
		{Limit: 10, Window: 10 * time.Second},
		{Limit: 100, Window: 10 * time.Second},
		{Limit: 1024, Window: time.Minute},
		{Limit: 7, Window: time.Minute, Burst: 20},
		{Limit: 100, Window: time.Second, Burst: 1000},
	} {
		l.Name = "r"
		t.Run(fmt.Sprint(l.Limit, l.Burst), func(t *testing.T) {
			_, m := counterOf(1<<20, l)
			r, now, most := rand.New(rand.NewPCG(1, 7)), began, max(l.Limit, l.Burst)
			for n := range 17_000 {
				e := 1 + r.Int64N(max(1, most/3))
				a := r.Int64N(e + 1)
				estimated, exact := m.Index([]byte("e")), m.Index([]byte("a"))
				fits := check(m, now, "e", e).Fits
				if !m.Peek(now, m.Look(now, exact), e).Fits != !fits {
					t.Fatalf("request %d of %d: the two differ", n, e)
				}
				if fits {
					if got := m.Refund(now, estimated, e-a); got != e-a {
						t.Fatalf("request %d: %d taken back, want %d", n, got, e-a)
					}
					if a > 0 {
						check(m, now, "a", a)
					}
				}
				one, two := m.Peek(now, m.Look(now, estimated), 1),
					m.Peek(now, m.Look(now, exact), 1)
				if one.Exact && two.Exact && one != two {
					t.Fatalf("request %d: %d of %d taken back: %+v, want %+v", n, e-a, e, one, two)
				}
				now = now.Add(time.Duration(r.Int64N(2 * int64(l.Window) * e / l.Limit)))
			}
		})
	}
}

// TestRefundOfMoreThanThereIs leaves an empty window and a full bucket.
func TestRefundOfMoreThanThereIs(t *testing.T) {
	for _, l := range []window.Limit{
		{Name: "r", Limit: 5000, Window: time.Minute},
		{Name: "r", Limit: 7, Window: time.Minute, Burst: 20},
	} {
		_, m := counterOf(1<<20, l)
		i := m.Index([]byte("k"))
		for range 12 {
			check(m, began, "k", 1)
		}
		if got := m.Refund(began, i, 5); got != 5 {
			t.Errorf("%d taken back, want 5", got)
		}
		if got := m.Refund(began, i, 1_000_000); got != 7 {
			t.Errorf("%d taken back, want the other 7", got)
		}
		if got := m.Peek(began, m.Look(began, i), 1); got.Used != 0 || m.Refund(began, i, 1) != 0 {
			t.Errorf("%+v is left", got)
		}
	}
}

// TestRefundOfCoarseMarks: a large limit is remembered in marks of several units. What is taken
// back is exact, and what is left is forgotten no later than it was.
func TestRefundOfCoarseMarks(t *testing.T) {
	l := window.Limit{Name: "r", Limit: 100_000, Window: 10 * time.Second}
	_, m := counterOf(1<<20, l)
	i, r, used, now := m.Index([]byte("k")), rand.New(rand.NewPCG(2, 2)), int64(0), began
	for range 5000 {
		cost := 1 + r.Int64N(200)
		if r.IntN(2) == 0 {
			if check(m, now, "k", cost).Fits {
				used += cost
			}
		} else {
			used -= m.Refund(now, i, cost)
		}
		if got := m.Peek(now, m.Look(now, i), 1); got.Used != used {
			t.Fatalf("%d used, want %d", got.Used, used)
		}
		now = now.Add(time.Microsecond)
	}
	if got := m.Peek(now.Add(l.Window), m.Look(now, i), 1); got.Used != 0 {
		t.Errorf("%d left after a window", got.Used)
	}
}
