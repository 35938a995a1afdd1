// Command ring measures the cost of counting together for one node, in interleaved rounds:
// decisions a second with a real memcached ring kept busy beside them, the same decisions while
// nothing is told, and those of a rule of scope node.
//
//	go -C bench run ./ring -servers 127.0.0.1:11211 -keys 10000
//
// Every key is asked for between two flushes, so each flush tells of all of them: 10,000 keys are
// 100,000 additions a second.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/headgate-dev/headgate/edge"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/pop"
	"github.com/headgate-dev/headgate/edge/ring"
	"github.com/headgate-dev/headgate/mitigation"
)

type options struct {
	servers string
	// 10,000 are about as many as a node exchanges in one flush
	keys   int
	rounds int
	lasts  time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.servers, "servers", "127.0.0.1:11211", "memcached servers, separated by commas")
	flag.IntVar(&o.keys, "keys", 10_000, "active keys")
	flag.IntVar(&o.rounds, "rounds", 5, "rounds of each kind")
	flag.DurationVar(&o.lasts, "lasts", 3*time.Second, "length of a round")
	flag.Parse()
	if err := run(o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "ring:", err)
		os.Exit(1)
	}
}

// flush is how often a node tells the ring, the default.
const flush = 100 * time.Millisecond

func run(o options, out io.Writer) error {
	tally, placement, servers, err := openRing(strings.Split(o.servers, ","))
	if err != nil {
		return err
	}
	defer tally.Close()
	alone, err := newNode(nil)
	if err != nil {
		return err
	}
	together, err := newNode(servers)
	if err != nil {
		return err
	}
	pop := pop.New(together, pop.Options{Tally: tally, Placement: placement, Secret: []byte("bench"), Every: flush})
	keys := make([][]byte, o.keys)
	for k := range keys {
		keys[k] = fmt.Appendf(nil, "203.0.%d.%d", k>>8, k&255)
	}
	// The first round of each would pay for memory that is touched for the first time.
	decide(alone, keys, o.lasts/3) // slots and pages
	withPoP(pop, tally, func() { decide(together, keys, o.lasts) })

	fmt.Fprintf(out, "%s, %d keys, %d rounds of %v\n", runtime.Version(), o.keys, o.rounds, o.lasts)
	var flowing, sharing []float64
	for n := range o.rounds {
		// Interleaved, so that a machine that becomes slower in between slows down all three kinds.
		own, still := decide(alone, keys, o.lasts), decide(together, keys, o.lasts)
		var with pace
		flow := withPoP(pop, tally, func() { with = decide(together, keys, o.lasts) })
		flowing, sharing = append(flowing, with.rate/still.rate), append(sharing, still.rate/own.rate)
		fmt.Fprintf(out, "round %d: scope node %v, scope pop and nothing told %v, %s %v\n", n+1, own, still, flow, with)
	}
	fmt.Fprintf(out, "decisions a second while exchanges flow, against the same rule while none do: %s\n", middle(flowing))
	fmt.Fprintf(out, "scope pop while nothing is told, against scope node: %s\n", middle(sharing))
	return nil
}

// pace is how fast decisions were made.
type pace struct {
	rate float64 // a second
	each float64 // ns of the deciding thread's processor time a decision; 0: not known
}

func (p pace) String() string {
	return fmt.Sprintf("%.2f M/s (%.0f ns of processor time each)", p.rate/1e6, p.each)
}

// middle says the median and the range of ratios.
// The range says whether the median can be believed.
func middle(ratios []float64) string {
	slices.Sort(ratios)
	return fmt.Sprintf("median %.3f, %.3f to %.3f", ratios[len(ratios)/2], ratios[0], ratios[len(ratios)-1])
}

func openRing(addresses []string) (*ring.Ring, *ring.Placement, []config.Server, error) {
	var servers []ring.Server
	var configured []config.Server
	for _, text := range addresses {
		at, err := config.ParseAddress(text)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("-servers: %w", err)
		}
		servers = append(servers, ring.Server{Host: at.Host, Port: at.Port, Path: at.Path, Weight: 1})
		configured = append(configured, config.Server{Address: at, Weight: 1})
	}
	placement, err := ring.NewPlacement(servers)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("-servers: %w", err)
	}
	tally, err := ring.New(ring.Config{Servers: servers})
	return tally, placement, configured, err
}

// newNode returns a node with one rule that refuses nobody here, shared with others if there are
// servers.
// The limit is far above what is asked, so that every decision takes the whole path of one that is
// allowed.
func newNode(servers []config.Server) (*gate.Gate, error) {
	cfg := config.Default()
	cfg.Node, cfg.Ring.Servers, cfg.Ring.Flush = "bench", servers, flush
	cfg.Rules = []mitigation.Rule{{Name: "r", Limit: 1_000_000, Window: 10 * time.Second}}
	if len(servers) > 0 {
		cfg.Rules[0].Scope = mitigation.PoP
	}
	return edge.NewGate(cfg, time.Now())
}

// withPoP runs f while pop flushes, and returns the traffic.
func withPoP(pop *pop.Flusher, tally *ring.Ring, f func()) string {
	ctx, stop := context.WithCancel(context.Background())
	before, began := told(tally), time.Now()
	var running sync.WaitGroup
	running.Go(func() { pop.Run(ctx) })
	f()
	flowed, took := told(tally)-before, time.Since(began)
	stop()
	running.Wait()
	return fmt.Sprintf("%.0f exchanges/s", float64(flowed)/took.Seconds())
}

// told returns the exchanges that were answered so far.
// Failed ones do not count, or a ring that is away would look busy.
func told(tally *ring.Ring) (sum uint64) {
	for _, s := range tally.Stats() {
		sum += s.Ops
		for _, failed := range s.Errors {
			sum -= failed
		}
	}
	return sum
}

// decide asks for all keys in turn for so long.
func decide(e *gate.Gate, keys [][]byte, lasts time.Duration) pace {
	// The processor time that is read is the thread's, so the goroutine must stay on it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { e.Run(ctx) })
	defer running.Wait()
	defer stop()
	q, lane, n := gate.Ask{Op: gate.Check, Rule: []byte("r"), Cost: 1}, e.Lane(0), 0
	var d gate.Decision
	began, spent := time.Now(), threadTime()
	for time.Since(began) < lasts {
		now := e.Now()
		for range 1000 { // the clock is read once a batch, as at the doors
			q.Key = keys[n%len(keys)]
			_ = lane.DecideTo(&d, now, rand.Uint64(), &q) //nolint:gosec // chance, not secrecy
			n++
		}
	}
	return pace{float64(n) / time.Since(began).Seconds(), float64(threadTime()-spent) / float64(n)}
}
