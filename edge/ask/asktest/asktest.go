// Package asktest makes gates with policies before them, for the tests of the rooms that ask about
// whole requests.
package asktest

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
)

// keep is how long a ticket is good.
const keep = time.Minute

// Open returns a gate of bytes of memory with the rules of the configuration in text, and the room
// with its policies. A fault in text ends the test.
func Open(t testing.TB, bytes int64, text string) (*gate.Gate, *ask.Room) {
	t.Helper()
	c, err := config.Parse("headgate.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	e, err := config.LoadPolicies(&c, [32]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	g := gatetest.New(t, bytes, c.AllRules()...)
	room := ask.New(g, ask.TicketBytes)
	room.SetPools(c.Pools)
	room.Set(e, c.AllRules(), keep)
	return g, room
}
