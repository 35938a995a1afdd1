// Command world drives the control loop of headgate, the daemon's own code, on virtual time: fleets
// of up to thousands of nodes under one global limit, through steps, losses, deaths, partitions,
// dead rings and moving floods. It prints each figure with its target.
//
//	go -C bench run ./world -n 1000 -pops 50 -seed 7
//
//	Poisson arrivals ─► node ─ratio─► record ─► bins, excess, Jain ─► table, PASS or MISS
//	                     │ ▲
//	              totals of the PoP's ring, every flush
//	                     │ ▲
//	              Sample ▼ │ Advice                one event queue, one goroutine: a seed is a run
//	             coordinator.Coordinator ◄─► network: delay by distance, loss, cuts
//
// One key under one rule is simulated, and in the scenario keys many at once. It leaves out real
// failure detection (members are told of a death after a fixed time) and the latency of memcached.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// options are the command's flags.
type options struct {
	nodes, pops, seeds  string
	scenarios, evidence string
	fast, check         bool
	ahead               time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.nodes, "n", "1000", "nodes; several sizes separated by commas")
	flag.StringVar(&o.pops, "pops", "",
		"PoPs, one number a size (default 3, 5, 20, 50 for 3, 10, 100, 1000 nodes)")
	flag.StringVar(&o.seeds, "seed", "7", "seeds and ranges of them, separated by commas: 7,101-110")
	flag.StringVar(&o.scenarios, "scenario", "all",
		"scenarios, separated by commas: all (but keys), "+strings.Join(scenarioNames(), ", "))
	flag.StringVar(&o.evidence, "rates", "counter", "how a node takes its rates: by the daemon's own counter, or from exact totals: boxcar, smooth")
	flag.BoolVar(&o.fast, "fast", false, "the fast profile: flush 50 ms, batch 20 ms")
	flag.DurationVar(&o.ahead, "ahead", 0, "how far the clocks of the first PoP are ahead")
	flag.BoolVar(&o.check, "check", false, "exit with 1 when a target is missed")
	flag.Parse()
	missed, err := run(o, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "world:", err)
		os.Exit(2)
	}
	if o.check && missed > 0 {
		os.Exit(1)
	}
}

// size is a fleet's number of nodes and PoPs.
type size struct{ nodes, pops int }

// sizes are the fleets of the simple model.
var sizes = []size{{3, 3}, {10, 5}, {100, 20}, {1000, 50}}

// popsOf returns the default number of PoPs for n nodes.
func popsOf(n int) int {
	pops := 1
	for _, s := range sizes {
		if n >= s.nodes {
			pops = s.pops
		}
	}
	return min(pops, n)
}

// run runs the command, and returns the number of missed targets.
func run(o options, out io.Writer) (missed int, err error) {
	nodes, err := numbers(o.nodes)
	if err != nil {
		return 0, fmt.Errorf("-n: %w", err)
	}
	pops, err := numbers(o.pops)
	if err != nil {
		return 0, fmt.Errorf("-pops: %w", err)
	}
	seeds, err := numbers(o.seeds)
	if err != nil || len(seeds) == 0 {
		return 0, fmt.Errorf("-seed: %w", err)
	}
	chosen, err := choose(o.scenarios)
	if err != nil {
		return 0, err
	}
	for k, n := range nodes {
		f := fleet{
			nodes: int(n), pops: popsOf(int(n)), flush: 100 * time.Millisecond,
			batch: 50 * time.Millisecond, evidence: o.evidence, rule: perSecond, loop: newLoop, ahead: o.ahead,
		}
		if o.fast {
			f.flush, f.batch = fastFlush, 20*time.Millisecond
		}
		if k < len(pops) {
			f.pops = int(pops[k])
		}
		if f.nodes < f.pops || f.pops < 1 {
			return missed, fmt.Errorf("%d nodes cannot be in %d PoPs", f.nodes, f.pops)
		}
		missed += measure(out, f, seeds, chosen)
	}
	return missed, nil
}

// fastFlush is the flush interval of the fast profile.
const fastFlush = 50 * time.Millisecond

// fast reports whether f runs the fast profile, which has its own targets.
func (f *fleet) fast() bool { return f.flush <= fastFlush }

// measure runs the scenarios with every seed, and prints the table.
func measure(out io.Writer, f fleet, seeds []uint64, chosen []scenario) (missed int) {
	runs := make([]values, len(seeds))
	for k, seed := range seeds {
		f.seed, runs[k] = seed, values{}
		for _, s := range chosen {
			began := time.Now()
			for name, v := range s.run(f) {
				runs[k][name] = v
			}
			fmt.Fprintf(os.Stderr, "N %d seed %d %s: %v\n", f.nodes, seed, s.name,
				time.Since(began).Round(10*time.Millisecond))
		}
	}
	return report(out, f, seeds, runs)
}

// scenarioNames returns the names of all scenarios.
func scenarioNames() (names []string) {
	for _, s := range scenarios {
		names = append(names, s.name)
	}
	return names
}

// choose returns the scenarios named in a comma-separated list.
func choose(names string) ([]scenario, error) {
	if names == "all" { // but for keys, which has a fleet of its own and takes minutes
		return slices.DeleteFunc(slices.Clone(scenarios),
			func(s scenario) bool { return s.name == "keys" }), nil
	}
	var chosen []scenario
	for name := range strings.SplitSeq(names, ",") {
		k := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == name })
		if k < 0 {
			return nil, fmt.Errorf("no scenario %q: there are %s", name,
				strings.Join(scenarioNames(), ", "))
		}
		chosen = append(chosen, scenarios[k])
	}
	return chosen, nil
}

// mostNumbers bounds the numbers of a range.
const mostNumbers = 1000

var errNotNumber = errors.New("wants numbers or ranges (101-110), separated by commas")

// numbers parses a comma-separated list; an empty text is an empty list.
func numbers(text string) (all []uint64, err error) {
	if text == "" {
		return nil, nil
	}
	for word := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(word, "-")
		if !isRange {
			last = first
		}
		n, err := strconv.ParseUint(first, 10, 32)
		end, err2 := strconv.ParseUint(last, 10, 32)
		if err != nil || err2 != nil || end < n || end-n >= mostNumbers {
			return nil, errNotNumber
		}
		for ; n <= end; n++ {
			all = append(all, n)
		}
	}
	return all, nil
}
