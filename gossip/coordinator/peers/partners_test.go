package peers_test

import (
	"testing"

	"github.com/headgate-dev/headgate/gossip/coordinator/peers"
)

// TestTurns: each node of a PoP receives in its turn, and two PoPs are not in step.
func TestTurns(t *testing.T) {
	var all peers.Partners
	all.Assign([]peers.PoP{
		{Name: "a", Nodes: []string{"a0", "a1"}},
		{Name: "b", Nodes: []string{"b0", "b1"}},
	})
	for turn, want := range []string{"a0 b1", "a1 b0", "a0 b1"} {
		if got := all.Next(0) + " " + all.Next(1); got != want {
			t.Errorf("turn %d: %s, want %s", turn, got, want)
		}
		all.Turn()
	}
}

// TestManyPoPsAreSentLessOften: with 45 PoPs each is sent a batch in every third turn, and each of
// its nodes in turn; the own PoP is sent a batch in all turns.
func TestManyPoPsAreSentLessOften(t *testing.T) {
	var all peers.Partners
	pops := make([]peers.PoP, 45)
	for n := range pops {
		pops[n] = peers.PoP{Own: n == 7, Nodes: []string{"0", "1"}}
	}
	all.Assign(pops)
	sent := make([]string, len(pops))
	for range 12 {
		for n := range pops {
			if all.Due(n) {
				sent[n] += all.Next(n)
			}
		}
		all.Turn()
	}
	for n := range sent {
		if n == 7 && len(sent[n]) != 12 || n != 7 && sent[n] != "0101" && sent[n] != "1010" {
			t.Errorf("PoP %d: %s", n, sent[n])
		}
	}
}
