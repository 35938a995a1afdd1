package gatetest

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/gate"
)

// keep is how long a ticket is good.
const keep = time.Minute

// Policies returns a gate of bytes of memory with the rules of the configuration in text, and the
// room with its policies. A fault in text ends the test.
func Policies(t testing.TB, bytes int64, text string) (*gate.Gate, *ask.Room) {
	t.Helper()
	c, err := config.Parse("headgate.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	e, err := config.LoadPolicies(&c, [32]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	g := New(t, bytes, c.AllRules()...)
	room := ask.New(g, ask.TicketBytes)
	room.SetPools(c.Pools)
	room.Set(e, c.AllRules(), keep)
	return g, room
}
