package gossip

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestSeedsAreResolved(t *testing.T) {
	n := idle(t, nil)
	for _, c := range []struct{ seed, want string }{
		{"10.0.0.2:5", "10.0.0.2:5"},
		{"10.0.0.2", "10.0.0.2:1"}, // with our own port
		{"[2001:db8::1]:5", "[2001:db8::1]:5"},
		{"10.0.0.2:port", ""},
		{"10.0.0.2:70000", ""},
		{"no.such.name.invalid:5", ""},
	} {
		got, err := n.resolve(t.Context(), c.seed)
		if (err != nil) != (c.want == "") || err == nil && got[0].String() != c.want {
			t.Errorf("%q: %v, %v; want %q", c.seed, got, err, c.want)
		}
	}
}

// joins is a cluster that notes who is asked to let us in, and when.
type joins struct {
	mu   sync.Mutex
	at   []time.Time
	addr []string
	err  error
}

func (j *joins) join(addr string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.at, j.addr = append(j.at, time.Now()), append(j.addr, addr)
	return j.err
}

// gaps returns the shortest and longest time between joins, from the given one on.
func (j *joins) gaps(from int) (shortest, longest time.Duration) {
	shortest = time.Hour
	for i := from + 1; i < len(j.at); i++ {
		gap := j.at[i].Sub(j.at[i-1])
		shortest, longest = min(shortest, gap), max(longest, gap)
	}
	return shortest, longest
}

func TestJoinsForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := idle(t, func(c *Config) { c.Join = []string{"10.0.0.2:1"} })
		j := &joins{err: errors.New("refused")}
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		n.keepJoining(ctx, j.join)
		if _, longest := j.gaps(0); len(j.at) < 24*60*60/15 || longest > joinEvery+joinJitter {
			t.Errorf("%d attempts in a day, %v apart at most", len(j.at), longest)
		}
		if early := j.at[3].Sub(j.at[0]); early > 10*time.Second {
			t.Errorf("alone, the fourth attempt comes after %v", early)
		}
		if shortest, _ := j.gaps(10); shortest < joinEvery {
			t.Errorf("in the long run attempts are %v apart, want at least %v", shortest, joinEvery)
		}
		if s := n.Stats(); s.JoinErrors != uint64(len(j.at)) || s.JoinError == "" {
			t.Errorf("%d errors counted of %d, the last %q", s.JoinErrors, len(j.at), s.JoinError)
		}
	})
}

// A round asks a few strangers: seeds and the dead, never the living or those that left.
func TestJoinRound(t *testing.T) {
	n := idle(t, func(c *Config) { c.Join = []string{"10.0.1.1:1", "10.0.1.2:1", "10.0.0.1:1"} })
	put := func(name, at string, s State) {
		a := netip.MustParseAddrPort(at)
		n.roster.members[name] = &entry{Member{Name: name, State: s}, a}
	}
	put("n", "10.0.0.1:1", Alive)
	put("seed", "10.0.1.1:1", Alive)
	put("left", "10.0.2.1:1", Left)
	for i := range 50 {
		put(fmt.Sprint(i), fmt.Sprintf("10.0.3.%d:1", i), Dead)
	}
	var j joins
	n.joinRound(t.Context(), j.join)
	if len(j.addr) != joinFan || !slices.Contains(j.addr, "10.0.1.2:1") {
		t.Errorf("asked %v, want %d, the missing seed among them", j.addr, joinFan)
	}
	for _, not := range []string{"10.0.0.1:1", "10.0.1.1:1", "10.0.2.1:1"} {
		if slices.Contains(j.addr, not) {
			t.Errorf("asked %s too", not)
		}
	}
	if s := n.Stats(); s.Joins != joinFan || s.Rejoins != joinFan-1 || s.JoinedAt.IsZero() {
		t.Errorf("%d joins and %d rejoins counted", s.Joins, s.Rejoins)
	}
}
