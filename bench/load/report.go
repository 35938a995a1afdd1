package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"
)

// Report is the result of one run. Rates are per second of the measured part, latencies in
// microseconds.
// Its JSON is what scripts in bench/ read and results are kept as.
type Report struct {
	Addr     string `json:"addr"`
	Requests int    `json:"requests"` // answered
	Lost     int    `json:"lost"`     // sent, and no answer within the timeout
	Warmup   int    `json:"warmup"`   // asked before the clock started, in no other figure
	// a server that answers "unknown-rule" once for a packet of twenty would look fast
	Short     int      `json:"short"`  // answered with fewer or more lines than asked
	Checks    int      `json:"checks"` // request lines a packet
	Window    int      `json:"window"`
	Keys      uint64   `json:"keys"`
	Dist      string   `json:"dist"`
	Rule      string   `json:"rule"`
	Seconds   float64  `json:"seconds"`
	Rate      float64  `json:"requests_per_s"`
	Decisions float64  `json:"decisions_per_s"` // Rate times Checks
	CoreShare float64  `json:"core_share"`      // of the time this process had its core; below 1: disturbed
	Verdicts  Verdicts `json:"verdicts"`
	Latency   Latency  `json:"latency_us"`
}

// Latency is from the send call to the receive call that brought the reply, in microseconds.
// It includes this side's own round, some microseconds under a full window.
type Latency struct {
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p99_9"`
	Max  float64 `json:"max"`
	Mean float64 `json:"mean"`
}

// tally collects while the clock runs; it allocates nothing then.
type tally struct {
	hist     *hdrhistogram.Histogram // nanoseconds
	verdicts Verdicts
	answered int
	lost     int
	short    int
}

// newTally holds latencies from 1 ns to a minute at three digits.
// Three digits are 0.1 %, finer than any two runs agree.
func newTally() *tally {
	return &tally{hist: hdrhistogram.New(1, time.Minute.Nanoseconds(), 3)}
}

func (t *tally) done() int { return t.answered + t.lost }

// answer records one reply that took nanos; a value outside the histogram is put at its nearest
// end.
func (t *tally) answer(nanos int64) {
	t.answered++
	// In range after the clamp, and out of range is RecordValue's only error.
	_ = t.hist.RecordValue(min(max(nanos, 1), time.Minute.Nanoseconds()))
}

// stopwatch measures wall time and this process's own processor time.
type stopwatch struct {
	wall time.Time
	cpu  time.Duration
}

func startWatch() stopwatch { return stopwatch{time.Now(), cpuTime()} }

// report turns a tally into figures.
func (t *tally) report(o options, w stopwatch) Report {
	took, cpu := time.Since(w.wall), cpuTime()-w.cpu
	rate := float64(t.answered) / took.Seconds()
	return Report{
		Addr: o.addr, Requests: t.answered, Lost: t.lost, Warmup: o.warmup, Short: t.short,
		Checks: o.checks, Window: o.window, Keys: o.keys, Dist: o.dist, Rule: o.rule,
		Seconds: took.Seconds(), Rate: rate, Decisions: rate * float64(o.checks),
		CoreShare: cpu.Seconds() / took.Seconds(),
		Verdicts:  t.verdicts, Latency: latencyOf(t.hist),
	}
}

func latencyOf(h *hdrhistogram.Histogram) Latency {
	micros := func(q float64) float64 { return float64(h.ValueAtQuantile(q)) / 1e3 }
	return Latency{
		micros(50), micros(90), micros(99), micros(99.9),
		float64(h.Max()) / 1e3, h.Mean() / 1e3,
	}
}

// write prints a table for people, or one line of JSON.
func (r Report) write(w io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(r)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "server\t%s\n", r.Addr)
	fmt.Fprintf(t, "asked\t%d x %d, window %d, rule %s, %d keys (%s)\n", r.Requests+r.Lost,
		r.Checks, r.Window, r.Rule, r.Keys, r.Dist)
	fmt.Fprintf(t, "took\t%.3f s\tcore share %.2f\n", r.Seconds, r.CoreShare)
	fmt.Fprintf(t, "rate\t%.0f requests/s\t%.0f decisions/s\n", r.Rate, r.Decisions)
	fmt.Fprintf(t, "lost\t%d\tshort %d\n", r.Lost, r.Short)
	v, l := r.Verdicts, r.Latency
	fmt.Fprintf(t, "said\tallow %d\tdeny %d\tok %d\techoed %d\terror %d\n", v.Allow, v.Deny,
		v.OK, v.Echoed, v.Error)
	fmt.Fprintf(t, "µs\tp50 %.1f\tp90 %.1f\tp99 %.1f\tp99.9 %.1f\tmax %.1f\tmean %.1f\n", l.P50,
		l.P90, l.P99, l.P999, l.Max, l.Mean)
	return t.Flush()
}
