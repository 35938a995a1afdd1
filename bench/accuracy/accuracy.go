package main

import (
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/oracle"
	"github.com/headgate-dev/headgate/window"
)

const (
	// warmUp is how long no request is judged: exact logs and node alike begin empty. Keys are
	// judged from the start, or one refused before and still over afterwards would pass for never
	// refused.
	warmUp = 2 * ruleWindow
	// trimEvery keeps the microseconds of idle sources from coming round.
	trimEvery = 30 * time.Minute
	// speedRequests is how many requests the pass without exact logs decides.
	speedRequests = 20_000_000
)

// accuracy is the result of a run. The run decides the same requests twice: once for the time and
// the memory of the node alone, and once with an exact log of every source, against which each
// decision is judged.
//
//	traffic(seed) ─► node                       ─► decide_ns, resident_bytes
//	traffic(seed) ─┬► node ────► refused? ─┐
//	               └► exact logs ─► truth ─┴─► oracle.Score
type accuracy struct {
	Traffic    string        `json:"traffic"`
	Seed       uint64        `json:"seed"`
	Limit      int64         `json:"limit"`
	Window     float64       `json:"window"`
	Memory     int64         `json:"memory"`
	Requests   int64         `json:"requests"`
	PerSecond  float64       `json:"traffic_per_second"`
	Census     census        `json:"census"`
	Score      *oracle.Score `json:"score,omitempty"`
	Node       window.Stats  `json:"node"`
	Decide     float64       `json:"decide_ns"`      // a request, without exact logs, sweeps included
	WithOracle float64       `json:"with_oracle_ns"` // a request, traffic and exact logs included
	Resident   int64         `json:"resident_bytes"` // grown by the node, in the pass without exact logs
	GoVersion  string        `json:"go"`
}

// runAccuracy runs the mode: the pass for speed over at most speedRequests, then, unless o has no
// oracle, the pass that is judged over o.n. Memory is returned to the system between the two, so
// that the second does not begin with the pages of the first.
func runAccuracy(o options) (result, error) {
	p, err := profileOf(o.traffic)
	if err != nil {
		return nil, err
	}
	a := &accuracy{
		Traffic: o.traffic, Seed: o.seed, Limit: p.limit,
		Window: ruleWindow.Seconds(), Memory: o.memory,
		Requests: o.n, GoVersion: runtime.Version(),
	}
	fast := o.n
	if o.oracle {
		fast = min(fast, speedRequests)
	}
	if err := a.time(p, o, fast); err != nil {
		return nil, err
	}
	if !o.oracle {
		return a, nil
	}
	debug.FreeOSMemory()
	return a, a.judge(p, o)
}

// time decides n requests with nothing beside, and takes the time of that alone.
// The clock is read once a slot and not once a request, or its readings would be a good part of the
// figure.
func (a *accuracy) time(p profile, o options, n int64) error {
	t := newTraffic(p, o.seed)
	a.Census = t.census
	// Made before the clock starts, as a door has the key's bytes anyway.
	keys := addresses(t.sources())
	bits := newDice(o.seed, 2)
	before := resident()
	node, err := newNode(o.memory, p.limit, t.now)
	if err != nil {
		return err
	}
	var spent time.Duration
	for left := n; left > 0; {
		events := t.next()
		left -= int64(len(events))
		began := time.Now()
		for _, e := range events {
			node.refuses(e.at, bits.Uint64(), keys[e.source])
		}
		node.sweep(t.now)
		spent += time.Since(began)
	}
	a.Decide = float64(spent.Nanoseconds()) / float64(n)
	a.Resident = resident() - before
	a.Node = node.edge.Stats(t.now)
	a.PerSecond = float64(n) / t.now.Sub(trafficStart).Seconds()
	return nil
}

// trial is the pass in which every decision is judged.
type trial struct {
	traffic  *traffic
	node     *node
	keys     [][]byte
	accounts []account
	score    *oracle.Score
	bits     *rand.Rand
}

// judge decides o.n requests and holds every answer against the exact log of its source. Each
// source has two logs, of 4 bytes for every request within its window.
// The same seed makes the same traffic and the same random bits, so that both passes decide alike.
func (a *accuracy) judge(p profile, o options) error {
	t := newTraffic(p, o.seed)
	node, err := newNode(o.memory, p.limit, t.now)
	if err != nil {
		return err
	}
	run := &trial{
		traffic: t, node: node, keys: addresses(t.sources()),
		accounts: make([]account, t.sources()),
		score:    oracle.NewScore(p.limit), bits: newDice(o.seed, 2),
	}
	began := time.Now()
	run.all(o.n)
	a.WithOracle = float64(time.Since(began).Nanoseconds()) / float64(o.n)
	a.PerSecond = float64(o.n) / t.now.Sub(trafficStart).Seconds()
	a.Node = node.edge.Stats(t.now)
	a.Score = run.close()
	return nil
}

// all decides and judges n requests.
func (r *trial) all(n int64) {
	trimmed := trafficStart
	for n > 0 {
		events := r.traffic.next()
		events = events[:min(int64(len(events)), n)]
		n -= int64(len(events))
		for _, e := range events {
			r.decide(e)
		}
		r.node.sweep(r.traffic.now)
		if r.traffic.now.Sub(trimmed) >= trimEvery {
			r.trim(tickOf(r.traffic.now))
			trimmed = r.traffic.now
		}
	}
}

// decide puts one request to the node, and holds the answer against the source's account. The
// counts that the score compares are those before this request, for admissions, and with it, for
// offers: the node must admit it if and only if fewer than limit were admitted in the window before
// it. Requests of the warm-up count in the accounts and are not scored.
func (r *trial) decide(e event) {
	key, tick, account := r.keys[e.source], tickOf(e.at), &r.accounts[e.source]
	admitted := account.admitted.trim(tick)
	refused := r.node.refuses(e.at, r.bits.Uint64(), key)
	account.offered.trim(tick)
	account.offered.push(tick)
	if !refused {
		account.admitted.push(tick)
	}
	account.peak = max(account.peak, account.offered.size)
	account.refused = account.refused || refused
	if e.at.Sub(trafficStart) < warmUp {
		return
	}
	r.score.Take(oracle.Seen{
		Cost: 1, Admitted: int64(admitted), Offered: int64(account.offered.size),
		Estimate: r.node.offered(e.at, key), Refused: refused, Settled: r.node.settled(e.at, key),
	})
}

// trim drops the requests of all accounts that have left the window. Without it a source that sends
// nothing for 71 minutes, 2^32 microseconds, would come back with a log that looks new.
func (r *trial) trim(now uint32) {
	for i := range r.accounts {
		r.accounts[i].offered.trim(now)
		r.accounts[i].admitted.trim(now)
	}
}

// close adds to the score each source that sent anything: its most requests in one window, and
// whether any of its requests was refused. A source whose peak is at most the limit and that was
// refused is a false refusal.
func (r *trial) close() *oracle.Score {
	for i := range r.accounts {
		if a := &r.accounts[i]; a.peak > 0 {
			r.score.TakeKey(int64(a.peak), a.refused)
		}
	}
	return r.score
}
