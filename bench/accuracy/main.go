// Command accuracy drives one node's decisions in process with synthetic traffic at the traffic's
// own time and says how far they were from the truth.
//
//	traffic (seeded) ─► Lane.Decide ─► verdict ─┐
//	      └────► exact logs, one a source ──────┴─► oracle.Score ─► the table of bench/README.md
//
// Modes: accuracy (synthetic edge traffic beside exact logs), overfull (a sketch far too small for
// its traffic must refuse nobody below the limit), keys (resident size after 1 M and 100 M distinct
// keys), twins (keys that collide under XXH64 must not meet here).
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// options are the arguments of the command line.
type options struct {
	mode    string // of modes
	traffic string // of profiles
	n       int64  // requests, keys or pairs, at least 1
	memory  int64  // bytes of the node, whole MiB
	seed    uint64 // of the traffic and of the node's random bits
	oracle  bool   // judge by exact logs
	json    bool
}

// result is the result of a mode: it prints itself, and knows whether it passed.
type result interface {
	print(w io.Writer)
	passed() bool
}

// main exits with 0 when every bound was met, 1 when one was missed, and 2 when the run was not
// possible.
func main() {
	o, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "accuracy:", err)
		os.Exit(2)
	}
	r, err := run(o)
	if err == nil {
		err = show(o, r)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "accuracy:", err)
		os.Exit(2)
	}
	if !r.passed() {
		os.Exit(1)
	}
}

// parse reads the command line and fills in the mode's defaults.
// The defaults are a mode's own: what is enough for one is hours for another.
func parse(args []string) (options, error) {
	var o options
	var memory string
	f := flag.NewFlagSet("accuracy", flag.ExitOnError)
	f.StringVar(&o.mode, "mode", "accuracy", "accuracy, overfull, keys or twins")
	f.StringVar(&o.traffic, "traffic", "calm", "calm, edge, pareto or pulse (mode accuracy)")
	f.Int64Var(&o.n, "n", 0, "requests, keys or pairs (default: the mode's own)")
	f.StringVar(&memory, "memory", "",
		"memory of the node, such as 64MiB (default: 64MiB; overfull: 20MiB)")
	f.Uint64Var(&o.seed, "seed", 1, "seed of the traffic")
	f.BoolVar(&o.oracle, "oracle", true,
		"keep exact logs and judge by them; false: only decide and take the time")
	f.BoolVar(&o.json, "json", false, "print JSON")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	return o, o.fill(memory)
}

// fill sets the options that were not given to the mode's defaults.
func (o *options) fill(memory string) error {
	m, known := modes[o.mode]
	if !known {
		return fmt.Errorf("-mode %q is none of accuracy, overfull, keys, twins", o.mode)
	}
	if memory == "" {
		memory = m.memory
	}
	if o.n == 0 {
		o.n = m.n
	}
	if o.n < 1 {
		return errors.New("-n must be positive")
	}
	mib, err := strconv.ParseInt(strings.TrimSuffix(memory, "MiB"), 10, 32)
	if err != nil || mib < 1 {
		return fmt.Errorf("-memory %q is not a number of MiB, such as 64MiB", memory)
	}
	o.memory = mib << 20
	return nil
}

// modes are the functions of the modes, with their default numbers of keys and requests.
var modes = map[string]struct {
	run    func(options) (result, error)
	n      int64
	memory string
}{
	"accuracy": {runAccuracy, 400_000_000, "64MiB"},
	"overfull": {runOverfull, 50_000_000, "20MiB"},
	"keys":     {runKeys, 100_000_000, "64MiB"},
	"twins":    {runTwins, 100_000, "64MiB"},
}

// run runs the mode of o.
func run(o options) (result, error) { return modes[o.mode].run(o) }

// show prints r as text or as JSON.
func show(o options, r result) error {
	if !o.json {
		r.print(os.Stdout)
		return nil
	}
	enc := json.NewEncoder(os.Stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}
