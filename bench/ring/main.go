// Command ring measures what counting together costs one node: decisions a second with a real memcached ring kept
// busy beside them, against the same decisions counted by the node alone, in interleaved rounds.
//
//	go run ./bench/ring -servers 127.0.0.1:11211 -keys 10000
//
// Every key is asked for between two flushes, so each flush tells of all of them: 10,000 keys are 100,000
// additions a second.
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
	"github.com/headgate-dev/headgate/edge/ring"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
)

type options struct {
	servers string
	keys    int
	rounds  int
	lasts   time.Duration
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
	pop := together.Join(edge.PoPOptions{Tally: tally, Placement: placement, Secret: []byte("bench"), Every: flush})
	keys := make([][]byte, o.keys)
	for k := range keys {
		keys[k] = fmt.Appendf(nil, "203.0.%d.%d", k>>8, k&255)
	}
	decide(alone, keys, o.lasts/3) // slots and pages
	withPoP(pop, tally, func() { decide(together, keys, o.lasts) })

	fmt.Fprintf(out, "%s, %d keys, %d rounds of %v\n", runtime.Version(), o.keys, o.rounds, o.lasts)
	var ratios []float64
	for n := range o.rounds {
		without := decide(alone, keys, o.lasts)
		var with float64
		flow := withPoP(pop, tally, func() { with = decide(together, keys, o.lasts) })
		ratios = append(ratios, with/without)
		fmt.Fprintf(out, "round %d: alone %.2f M/s, with the ring %.2f M/s (%.3f), %s\n", n+1, without/1e6, with/1e6, with/without, flow)
	}
	slices.Sort(ratios)
	fmt.Fprintf(out, "decisions with the ring against without: median %.3f, %.3f to %.3f\n",
		ratios[len(ratios)/2], ratios[0], ratios[len(ratios)-1])
	return nil
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

// newNode returns a node with one rule that refuses nobody here, shared with others if there are servers.
func newNode(servers []config.Server) (*edge.Edge, error) {
	cfg := config.Default()
	cfg.Node, cfg.Ring.Servers, cfg.Ring.Flush = "bench", servers, flush
	cfg.Rules = []mitigation.Rule{{Name: "r", Limit: 1_000_000, Window: 10 * time.Second}}
	if len(servers) > 0 {
		cfg.Rules[0].Scope = mitigation.PoP
	}
	return edge.New(cfg, time.Now())
}

// withPoP runs f while pop flushes, and says what flowed.
func withPoP(pop *edge.PoP, tally *ring.Ring, f func()) string {
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
func told(tally *ring.Ring) (sum uint64) {
	for _, s := range tally.Stats() {
		sum += s.Ops
		for _, failed := range s.Errors {
			sum -= failed
		}
	}
	return sum
}

// decide asks for all keys in turn for so long and returns decisions a second.
func decide(e *edge.Edge, keys [][]byte, lasts time.Duration) float64 {
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { e.Run(ctx) })
	defer running.Wait()
	defer stop()
	q, lane, n := wire.Query{Op: wire.Check, Rule: []byte("r"), Cost: 1}, e.Lane(0), 0
	var d edge.Decision
	began := time.Now()
	for time.Since(began) < lasts {
		now := e.Now()
		for range 1000 { // the clock is read once a batch, as at the doors
			q.Key = keys[n%len(keys)]
			lane.DecideTo(&d, now, rand.Uint64(), &q) //nolint:gosec // chance, not secrecy
			n++
		}
	}
	return float64(n) / time.Since(began).Seconds()
}
