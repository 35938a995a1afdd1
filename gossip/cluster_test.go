package gossip

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/gossip/lossy"
)

// drain is how long memberlist's goroutines may take to end, in a bubble's time.
const drain = 2 * time.Minute

// simulated is a Node on a lossy network. It keeps every record it receives, and returns them as
// State.
type simulated struct {
	*Node
	end  *lossy.End
	addr string
	stop func()

	mu    sync.Mutex
	heard map[string]time.Time
}

func (s *simulated) hear(text string) (news bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.heard[text]; known {
		return false
	}
	s.heard[text] = time.Now()
	return true
}

func (s *simulated) when(text string) (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.heard[text]
	return at, ok
}

func (s *simulated) state(bool) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b []byte
	for text := range s.heard {
		b = append(append(b, text...), '\n')
	}
	return b
}

func (s *simulated) merge(state []byte) {
	for text := range strings.Lines(string(state)) {
		s.hear(strings.TrimSuffix(text, "\n"))
	}
}

// cluster is nodes n0, n1, ... in two PoPs, all of them joining the first two.
type cluster struct {
	net   *lossy.Net
	nodes []*simulated
}

func address(i int) string { return fmt.Sprintf("10.0.0.%d:4293", i+1) }

func (c *cluster) addresses(from, to int) (list []string) {
	for i := from; i < to; i++ {
		list = append(list, address(i))
	}
	return list
}

// add starts node i, instead of the one that was there.
func (c *cluster) add(t *testing.T, i int, change func(*Config)) *simulated {
	t.Helper()
	s := &simulated{end: c.net.End(address(i)), addr: address(i), heard: make(map[string]time.Time)}
	cfg := Config{
		Name: fmt.Sprintf("n%d", i), Bind: address(i), Join: []string{address(0), address(1)},
		Key: key(1), Label: "sim",
		Meta: Meta{PoP: fmt.Sprintf("pop%d", i%2)}, Transport: s.end,
		State: s.state, Merge: s.merge,
		ReceiveRecord: func(b []byte) bool { return s.hear(string(b)) },
	}
	if change != nil {
		change(&cfg)
	}
	n, err := Open(cfg)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	s.Node = n
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("%s: Run: %v", cfg.Name, err)
		}
	})
	if i < len(c.nodes) {
		c.nodes[i] = s
	} else {
		c.nodes = append(c.nodes, s)
	}
	return s
}

// simulate runs f in a bubble with a cluster of n nodes that know each other.
func simulate(t *testing.T, n int, seed uint64, f func(*testing.T, *cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{net: lossy.New(seed,
			lossy.Fault{Delay: 5 * time.Millisecond, Jitter: 5 * time.Millisecond})}
		defer func() {
			c.net.Heal()
			for _, s := range c.nodes {
				s.stop()
			}
			time.Sleep(drain)
		}()
		for i := range n {
			c.add(t, i, nil)
		}
		c.within(t, 30*time.Second, "everybody knows everybody", c.whole)
		f(t, c)
	})
}

// whole reports whether every node sees every other alive.
func (c *cluster) whole() bool {
	for _, s := range c.nodes {
		if s.roster.alive() != len(c.nodes) {
			return false
		}
	}
	return true
}

// within waits in the bubble's time and returns how long it took.
func (c *cluster) within(
	t *testing.T, most time.Duration, what string, is func() bool,
) time.Duration {
	t.Helper()
	begin := time.Now()
	for !is() {
		if time.Since(begin) > most {
			for _, s := range c.nodes {
				t.Logf("%s sees %d alive; %+v", s.cfg.Name, s.roster.alive(), s.Stats().Dropped)
			}
			t.Fatalf("not within %v: %s", most, what)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return time.Since(begin)
}

// With a fifth of the packets lost, broadcasts alone leave nodes out. With State in every push/pull
// all nodes have the record after a few seconds.
func TestRecordsReachAllWithLoss(t *testing.T) {
	const clusters, records, loss = 5, 20, 0.2
	var took []time.Duration
	for seed := range uint64(clusters) {
		simulate(t, 8, seed, func(t *testing.T, c *cluster) {
			c.net.SetFault(lossy.Fault{
				Loss: loss, Delay: 5 * time.Millisecond,
				Jitter: 5 * time.Millisecond,
			})
			for i := range records {
				text := fmt.Sprintf("record %d", i)
				c.nodes[i%8].hear(text)
				c.nodes[i%8].Spread(text, []byte(text))
				took = append(took, c.within(t, time.Minute, text+" everywhere", func() bool {
					return !slices.ContainsFunc(c.nodes,
						func(s *simulated) bool { _, ok := s.when(text); return !ok })
				}))
			}
		})
	}
	slices.Sort(took)
	median, p90, last := took[len(took)/2], took[len(took)*9/10], took[len(took)-1]
	t.Logf("8 nodes, 20 %% loss, %d records: all have heard after %v (median), %v (p90), %v (last)",
		len(took), median, p90, last)
	if median > time.Second || p90 > 3*time.Second || last > 20*time.Second {
		t.Error("want at most 1 s, 3 s and 20 s")
	}
}

func TestPartitionHealsItself(t *testing.T) {
	all := []time.Duration{20 * time.Second, 2 * time.Minute, 10 * time.Minute}
	if testing.Short() {
		all = all[:1]
	}
	for _, long := range all {
		t.Run(long.String(), func(t *testing.T) {
			simulate(t, 10, 7, func(t *testing.T, c *cluster) {
				// both seeds are in one half, so it is remembered members that bring the halves
				// together
				c.net.Partition(c.addresses(0, 5), c.addresses(5, 10))
				time.Sleep(long)
				if got := c.nodes[9].roster.alive(); got != 5 {
					t.Errorf("after %v of partition a node sees %d alive, want 5", long, got)
				}
				c.net.Heal()
				t.Logf("one cluster %v after a partition of %v",
					c.within(t, 30*time.Second, "one cluster again", c.whole), long)
			})
		})
	}
}

func TestPauseCrashAndRestart(t *testing.T) {
	simulate(t, 5, 3, func(t *testing.T, c *cluster) {
		c.net.Pause(address(4))
		c.within(t, 30*time.Second, "a paused node is dead",
			func() bool { return c.nodes[0].sees("n4", Dead) })
		c.net.Resume(address(4))
		c.within(t, 10*time.Second, "and back", c.whole)

		c.nodes[3].end.Crash()
		c.within(t, 30*time.Second, "a killed node is dead",
			func() bool { return c.nodes[0].sees("n3", Dead) })
		c.nodes[3].stop()
		c.add(t, 3, nil)
		c.within(t, 10*time.Second, "and back after a restart", c.whole)

		c.nodes[3].end.Crash()
		c.within(t, 30*time.Second, "it is dead again",
			func() bool { return c.nodes[0].sees("n3", Dead) })
		c.nodes[3].stop()
		const elsewhere = "10.0.1.1:4293"
		c.add(t, 3, func(cfg *Config) { cfg.Bind, cfg.Transport = elsewhere, c.net.End(elsewhere) })
		c.within(t, 2*reclaimAfter, "and back under another address", c.whole)

		c.nodes[2].stop()
		c.within(t, 5*time.Second, "one that was stopped has left", func() bool {
			// its announcement may miss a node, which then takes it for dead
			heard := 0
			for _, s := range c.nodes {
				heard += number(s.sees("n2", Left))
			}
			return heard >= 3
		})
	})
}

func (s *simulated) sees(name string, state State) bool {
	return slices.ContainsFunc(s.Members(),
		func(m Member) bool { return m.Name == name && m.State == state })
}

// A new key is installed in three rounds, and no packet is lost over it.
func TestRotate(t *testing.T) {
	simulate(t, 4, 5, func(t *testing.T, c *cluster) {
		steps := [][][]byte{{key(1), key(2)}, {key(2), key(1)}, {key(2)}}
		for _, keys := range steps {
			for _, s := range c.nodes {
				if err := s.Rotate(keys[0], keys[1:]...); err != nil {
					t.Fatal(err)
				}
				time.Sleep(3 * time.Second)
			}
		}
		for _, s := range c.nodes {
			if d := s.Stats().Dropped; d["key"]+d["stream"] > 0 {
				t.Errorf("%s lost packets or streams over the rotation: %v", s.cfg.Name, d)
			}
			if got := s.keyring.GetKeys(); len(got) != 1 || got[0][0] != 2 {
				t.Errorf("%s has %d keys left, want the new one alone", s.cfg.Name, len(got))
			}
		}
		if err := c.nodes[0].Rotate(key(3)[:31]); err == nil {
			t.Error("a key of 31 bytes was taken")
		}
		// a node with another key than the others is out
		if err := c.nodes[0].Rotate(key(3)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if d := c.nodes[1].Stats().Dropped; d["key"] == 0 {
			t.Error("packets with another key were not refused")
		}
	})
}

// Two nodes with one name are an operator's mistake that must be seen: the second one is no member.
func TestOneNameTwice(t *testing.T) {
	var l lines
	simulate(t, 3, 23, func(t *testing.T, c *cluster) {
		c.add(t, 3, func(cfg *Config) { cfg.Name, cfg.Log = "n0", newLogger(&l) })
		c.within(t, 30*time.Second, "the conflict is counted",
			func() bool { return c.nodes[3].Stats().Conflicts > 0 })
		if l.with("same name") == 0 {
			t.Error("nothing about it in the log")
		}
		for _, m := range c.nodes[1].Members() {
			if m.Name == "n0" && m.Addr != address(0) {
				t.Errorf("n0 is now at %s", m.Addr)
			}
		}
	})
}

// A node that comes back at another address at once, before anybody has missed it, has moved.
func TestMovedNode(t *testing.T) {
	var l lines
	simulate(t, 3, 29, func(t *testing.T, c *cluster) {
		c.add(t, 3, func(cfg *Config) { cfg.Log = newLogger(&l) })
		c.within(t, 30*time.Second, "all are there", c.whole)
		c.nodes[2].end.Crash()
		c.nodes[2].stop()
		const elsewhere = "10.0.1.1:4293"
		c.add(t, 2, func(cfg *Config) { cfg.Bind, cfg.Transport = elsewhere, c.net.End(elsewhere) })
		c.within(t, time.Minute, "and back under another address", func() bool {
			return slices.ContainsFunc(c.nodes[3].Members(), func(m Member) bool {
				return m.Name == "n2" && m.Addr == elsewhere && m.State == Alive
			})
		})
		for _, s := range c.nodes {
			if n := s.Stats().Conflicts; n > 0 {
				t.Errorf("%s counted %d conflicts", s.cfg.Name, n)
			}
		}
		if l.with("has moved") != 1 || l.with("same name")+l.with("Conflicting") != 0 {
			t.Errorf("not said once that it has moved: %v", l.list)
		}
	})
}

// pass lets that much of a bubble's time pass.
func pass(d time.Duration) { time.Sleep(d) }
