package gatetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/window"
)

// TakeAllLeases takes leases under rule, of kind concurrency, for keys of its own until none are
// left.
func TakeAllLeases(t testing.TB, g *gate.Gate, rule string) {
	t.Helper()
	for n := range 1 << 17 {
		if Decide(g, g.Now(), gate.Acquire, rule, fmt.Sprint("lease-", n), 1).Full {
			return
		}
	}
	t.Fatal("the leases do not end")
}

// Crowd has clients ask under key of rule, which has a MaxBlast, until a block of it sheds instead.
func Crowd(t testing.TB, g *gate.Gate, rule, key string) {
	t.Helper()
	const most = 10_000
	for n := range most {
		a := Ask(gate.Check, rule, key, 1)
		a.Parts = &gate.Parts{Client: fmt.Append(nil, "client-", n)}
		if d, err := g.Lane(0).Decide(g.Now(), 1<<63, a); err != nil {
			t.Fatal(err)
		} else if d.Blast > 0 {
			return
		}
	}
	t.Fatalf("%d clients are no crowd", most)
}

// Pools are pools that workers report to.
type Pools interface {
	Load(now window.Instant, name, from []byte, share uint32) error
	Turn(now window.Instant)
}

// Busy has a worker report to the pool called name, from now on, that all of it is in use, until
// all tiers that it sheds are denied.
func Busy(t testing.TB, p Pools, now window.Instant, name string) {
	t.Helper()
	const all, turns = 1_000_000, 60
	for range turns {
		if err := p.Load(now, []byte(name), []byte("worker"), all); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Second)
		p.Turn(now)
	}
}
