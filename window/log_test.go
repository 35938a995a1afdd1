package window_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/window"
)

const microsecond = time.Microsecond

// at is an instant d after a start that is no multiple of any window.
func at(d time.Duration) window.Instant { return window.Instant(1_700_000_007_000_000_000).Add(d) }

func ExampleLog() {
	log := window.NewLog(time.Minute, time.Microsecond)
	start := window.Instant(0)
	log.Offer(start, 3)
	log.Admit(start, 3)
	log.Offer(start.Add(59*time.Second), 1)
	fmt.Println(log.Offered(start.Add(59*time.Second)), log.Admitted(start.Add(59*time.Second)))
	fmt.Println(log.Offered(start.Add(60*time.Second)), log.Admitted(start.Add(60*time.Second)))
	// Output:
	// 4 3
	// 1 0
}

func TestLogWindowIsOpenAtItsOldEnd(t *testing.T) {
	log := window.NewLog(10*time.Second, microsecond)
	log.Offer(at(0), 7)
	for _, c := range []struct {
		after time.Duration
		want  int64
	}{
		{0, 7},
		{10*time.Second - microsecond, 7},
		{10 * time.Second, 0},
	} {
		if got := log.Offered(at(c.after)); got != c.want {
			t.Errorf("offered %v after 7 units = %d, want %d", c.after, got, c.want)
		}
	}
}

func TestLogRoundsDownToTheTick(t *testing.T) {
	tick := 80 * time.Microsecond
	log := window.NewLog(24*time.Hour, tick)
	start := window.Instant(0)
	log.Admit(start.Add(tick-1), 1) // read as at 0
	if got := log.Admitted(start.Add(24*time.Hour - 1)); got != 1 {
		t.Errorf("admitted one tick before the window ends = %d, want 1", got)
	}
	if got := log.Admitted(start.Add(24 * time.Hour)); got != 0 {
		t.Errorf("admitted a window after the tick it was read at = %d, want 0", got)
	}
}

func TestLogRoundsDownBefore1970(t *testing.T) {
	log := window.NewLog(time.Second, time.Millisecond)
	log.Offer(-1, 1) // rounds to -1ms, not to 0
	if got := log.Offered(window.Instant(999 * time.Millisecond)); got != 0 {
		t.Errorf("offered 999 ms after 1970 of one unit at -1 ms = %d, want 0", got)
	}
}

func TestLogFitsUpToEquality(t *testing.T) {
	log := window.NewLog(time.Minute, microsecond)
	log.Admit(at(0), 95)
	if !fits(log, at(1), 5, 100) {
		t.Error("95 admitted and 5 more do not fit 100: equality must fit")
	}
	if fits(log, at(1), 6, 100) {
		t.Error("95 admitted and 6 more fit 100")
	}
}

func TestLogReadsAnEarlierNowAsTheNewest(t *testing.T) {
	log := window.NewLog(time.Minute, microsecond)
	log.Offer(at(30*time.Second), 1)
	log.Offer(at(0), 1) // a log that went back: counted at 30 s
	if got := log.Offered(at(89 * time.Second)); got != 2 {
		t.Errorf("offered 89 s on = %d, want 2: the late record counts at the newest moment", got)
	}
}

func TestLogIgnoresCostsBelowOne(t *testing.T) {
	log := window.NewLog(time.Minute, microsecond)
	log.Offer(at(0), 0)
	log.Admit(at(0), -5)
	if o, a := log.Offered(at(0)), log.Admitted(at(0)); o != 0 || a != 0 {
		t.Errorf("offered %d, admitted %d after costs 0 and -5, want 0 and 0", o, a)
	}
}

func TestNewLogRefusesImpossibleTicks(t *testing.T) {
	for _, tick := range []time.Duration{0, -1, 2 * time.Second} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("NewLog(1s, %v) did not panic", tick)
				}
			}()
			window.NewLog(time.Second, tick)
		}()
	}
}

// plainLog is the definition, written as slowly as it reads.
type plainLog struct {
	at   []window.Instant
	cost []int64
}

func (p *plainLog) add(now window.Instant, cost int64) {
	p.at, p.cost = append(p.at, now), append(p.cost, cost)
}

func (p *plainLog) sum(now window.Instant, w time.Duration) (sum int64) {
	for i, t := range p.at {
		if now.Sub(t) < w {
			sum += p.cost[i]
		}
	}
	return sum
}

func TestLogAgreesWithItsDefinition(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 1))
		w := time.Second
		log := window.NewLog(w, microsecond)
		var offered, admitted plainLog
		now := at(0)
		for step := range 400 {
			if rng.IntN(40) == 0 { // now and then a gap, so that rings drain and shrink
				now = now.Add(time.Duration(rng.Int64N(int64(3 * w))))
			}
			now = now.Add(microsecond * time.Duration(rng.IntN(20_000)))
			now -= now % 1000
			cost := 1 + rng.Int64N(9)
			log.Offer(now, cost)
			offered.add(now, cost)
			if fits(log, now, cost, 200) {
				log.Admit(now, cost)
				admitted.add(now, cost)
			}
			if got, want := log.Offered(now), offered.sum(now, w); got != want {
				t.Fatalf("seed %d step %d: offered %d, want %d", seed, step, got, want)
			}
			if got, want := log.Admitted(now), admitted.sum(now, w); got != want {
				t.Fatalf("seed %d step %d: admitted %d, want %d", seed, step, got, want)
			}
		}
	}
}

func BenchmarkLog(b *testing.B) {
	log := window.NewLog(time.Second, microsecond)
	now := at(0)
	for b.Loop() {
		now = now.Add(time.Millisecond)
		log.Offer(now, 1)
		if fits(log, now, 1, 600) {
			log.Admit(now, 1)
		}
	}
}

// fits reports whether cost may be admitted at now under limit.
func fits(log *window.Log, now window.Instant, cost, limit int64) bool {
	return log.Admitted(now)+cost <= limit
}
