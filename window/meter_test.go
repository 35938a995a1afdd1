package window

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

func newTestCounter(t testing.TB, bytes int, limits ...Limit) *Counter {
	t.Helper()
	c := NewCounter(bytes)
	c.Configure(limits)
	return c
}

const start = Instant(1_700_000_000_000_000_000)

// ask is one check of cost by key.
func ask(m *Meter, now Instant, key string, cost int64) Count {
	i := m.Index([]byte(key))
	return m.Admit(now, m.Offer(now, i, []byte(key), cost, rand.Uint64()), cost)
}

func TestExactlyTheLimitAndEqualityAllows(t *testing.T) {
	m := newTestCounter(t, 4<<20, Limit{Name: "r", Limit: 5, Window: time.Minute}).Meter("r")
	for k := range 5 {
		got := ask(m, start.Add(time.Duration(k)*time.Second), "a", 1)
		if !got.Fits || got.Used != int64(k+1) {
			t.Fatalf("request %d: %+v", k, got)
		}
	}
	got := ask(m, start.Add(10*time.Second), "a", 1)
	if got.Fits || got.Wait != 50*time.Second {
		t.Fatalf("sixth: %+v", got)
	}
	if got := ask(m, start.Add(time.Minute-time.Microsecond), "a", 1); got.Fits {
		t.Fatalf("just before the first leaves: %+v", got)
	}
	if got := ask(m, start.Add(time.Minute), "a", 1); !got.Fits {
		t.Fatalf("what is exactly a window old is out: %+v", got)
	}
}

// TestAgainstTheLog holds admissions to the exact sliding log: to the unit up to 1024 units, above
// within a mark.
func TestAgainstTheLog(t *testing.T) {
	edgetest.Alone(t)
	for _, limit := range []int64{1, 2, 3, 7, 20, 100, 256, 1000, 1024, 5000, 1_000_000} {
		for seed := range uint64(8) {
			t.Run(fmt.Sprintf("limit%d/seed%d", limit, seed), func(t *testing.T) {
				againstTheLog(t, limit, seed)
			})
		}
	}
}

func againstTheLog(t *testing.T, limit int64, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	window := []time.Duration{time.Second, 10 * time.Second, time.Hour, 24 * time.Hour}[seed%4]
	m := newTestCounter(t, 4<<20, Limit{Name: "r", Limit: limit, Window: window}).Meter("r")
	log := NewLog(window, Tick(window))
	now, q := start, int64(m.per)
	for k := range 20_000 {
		switch rng.IntN(50) {
		case 0:
			now = now.Add(time.Duration(rng.Int64N(int64(window) * 5 / 4)))
		default:
			now = now.Add(time.Duration(rng.Int64N(int64(window) / limit)))
		}
		cost := int64(1)
		if rng.IntN(4) == 0 {
			cost = 1 + rng.Int64N(min(limit, 1_000_000)/4+1)
		}
		exact := log.Admitted(now)
		got := ask(m, now, "key", cost)
		since, suspect := m.Suspect(m.Index([]byte("key")))
		warm := limit <= 1020 || suspect && now.Sub(since) > window
		if warm && got.Fits && exact+cost > limit || !got.Fits && exact+cost <= limit-(q-1) {
			t.Fatalf("request %d: %+v, exactly %d + %d of %d", k, got, exact, cost, limit)
		}
		if got.Fits {
			log.Admit(now, cost)
		}
	}
}
