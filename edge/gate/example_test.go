package gate_test

import (
	"fmt"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
)

func Example() {
	login := mitigation.Rule{Name: "login", Limit: 2, Window: time.Minute}
	g := gate.New(gate.Options{
		Memory: 1 << 20, Rules: []mitigation.Rule{login},
		Flush: time.Second, Start: time.Now(),
	})

	lane, now, ask := g.Lane(0), g.Now(),
		gate.Ask{Op: gate.Check, Rule: []byte("login"), Key: []byte("203.0.113.7"), Cost: 1}
	for range 3 {
		d, err := lane.Decide(now, 42, ask) // a door passes 64 random bits in place of 42
		fmt.Println(d.Deny, d.Why, d.Remaining, d.Retry.Round(time.Second), err)
	}
	// Output:
	// false  1 0s <nil>
	// false  0 0s <nil>
	// true limit 0 1m0s <nil>
}
