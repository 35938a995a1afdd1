package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// Bounds of the options; they keep every run inside a known amount of memory.
// An HTTP connection has a buffer of maxResponse, so maxWindow is 1 GiB at most. A check in the
// pool takes some 40 bytes in a datagram and three times that as an HTTP request, so maxPool is
// some 2 GiB. Keys are IPv4 addresses (see appendKey): more than maxKeys would repeat.
const (
	maxRequests = 1 << 30
	maxWindow   = 1 << 14
	maxChecks   = 64 // lines a datagram, the protocol's own bound
	// a batch of the longest datagrams: none is sent twice in one system call
	minPool        = 1 << 12
	maxPool        = 1 << 24
	maxKeys        = 1 << 32
	maxHeaderBytes = 1 << 20
)

// options are the questions, their rate and the way to send them. All numbers were checked by
// parseOptions.
// One type for both subcommands, so that a report has the same fields for either.
type options struct {
	addr        string        // host:port, or unix:/path
	requests    int           // packets or HTTP requests measured
	warmup      int           // the same, before the clock starts
	window      int           // outstanding at once; for HTTP the number of connections
	checks      int           // request lines a datagram
	sockets     int           // that share the window evenly
	keys        uint64        // different keys to draw from
	dist        string        // one, uniform, zipf
	skew        float64       // s of the Zipf law, > 1
	seed        uint64        // of the draw
	rule        string        // rule asked about
	op          string        // check, peek, count
	line        string        // in its place: any request line; {rule} and {key} are filled in
	ids         bool          // match replies by id=, not by order
	pool        int           // checks drawn and formatted beforehand, then used round and round
	path        string        // HTTP: request target, {rule} and {key} are filled in
	headerBytes int           // HTTP: bytes of ballast header a request carries
	hold        bool          // HTTP: keep the connections open after the report until a signal
	timeout     time.Duration // no reply for so long: all outstanding requests are lost
	json        bool
}

// parseOptions reads the flags of one subcommand. The error is errUsage when the flag package has
// told the user already.
func parseOptions(name string, args []string, stderr io.Writer) (options, error) {
	var o options
	fs := flag.NewFlagSet("load "+name, flag.ContinueOnError)
	fs.SetOutput(stderr)
	o.commonFlags(fs)
	switch name {
	case "udp":
		o.udpFlags(fs)
	case "http":
		o.httpFlags(fs)
	}
	if err := fs.Parse(args); err != nil {
		return o, errors.Join(errUsage, err)
	}
	return o, o.validate(fs.Args())
}

func (o *options) commonFlags(fs *flag.FlagSet) {
	fs.StringVar(&o.addr, "addr", "127.0.0.1:4290", "`host:port` or unix:/path of the server")
	fs.IntVar(&o.requests, "requests", 1_000_000, "packets or HTTP requests to measure")
	fs.IntVar(&o.warmup, "warmup", 0, "the same, before the clock starts")
	fs.IntVar(&o.window, "window", 64, "outstanding packets, or connections")
	fs.Uint64Var(&o.keys, "keys", 4096, "number of different keys")
	fs.StringVar(&o.dist, "dist", "uniform", "`law` the keys are drawn by: one, uniform, zipf")
	fs.Float64Var(&o.skew, "zipf-s", 1.01, "exponent of the Zipf law, above 1")
	fs.Uint64Var(&o.seed, "seed", 1, "seed of the draw")
	fs.StringVar(&o.rule, "rule", "per-ip", "rule to ask about")
	fs.IntVar(&o.pool, "pool", 1<<22, "checks drawn beforehand and used round and round")
	fs.DurationVar(&o.timeout, "timeout", 500*time.Millisecond,
		"silence after which the outstanding are lost")
	fs.BoolVar(&o.json, "json", false, "report as one JSON object")
}

func (o *options) udpFlags(fs *flag.FlagSet) {
	fs.IntVar(&o.checks, "checks", 1, "request lines a datagram")
	fs.StringVar(&o.op, "op", "check", "operation: check, peek, count")
	fs.StringVar(&o.line, "line", "", "request `line` in place of --op, such as \"ask path=/v2/x client={key}\"")
	fs.IntVar(&o.sockets, "sockets", 1, "sockets that share the outstanding packets evenly")
	fs.BoolVar(&o.ids, "id", false, "send id= and match replies by it, instead of by order")
}

func (o *options) httpFlags(fs *flag.FlagSet) {
	// No flags of HTTP, but validate and report look at them: a request asks one thing on a
	// connection of its own.
	o.checks, o.sockets = 1, 1
	fs.StringVar(&o.path, "path", "/v1/check?rule={rule}&key={key}", "request `target`")
	fs.IntVar(&o.headerBytes, "header-bytes", 0, "bytes of ballast header a request carries")
	fs.BoolVar(&o.hold, "hold", false,
		"after the report keep the connections open until SIGINT or SIGTERM")
}

// holdOpen waits for a signal when the user asked for it; the connections stay open meanwhile.
func (o *options) holdOpen() {
	if !o.hold {
		return
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	<-signals
}

// validate joins all faults, so that a script sees them at once.
func (o *options) validate(rest []string) error {
	var faults []error
	check := func(good bool, format string, args ...any) {
		if !good {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	// Package flag stops at the first word that is no flag: those behind it would be left out
	// silently.
	check(len(rest) == 0, "unexpected argument %q", rest)
	check(within(o.requests, 1, maxRequests), "--requests: want 1..%d", maxRequests)
	check(within(o.warmup, 0, maxRequests), "--warmup: want 0..%d", maxRequests)
	check(within(o.window, 1, maxWindow), "--window: want 1..%d", maxWindow)
	check(within(o.checks, 1, maxChecks), "--checks: want 1..%d", maxChecks)
	check(within(o.sockets, 1, o.window) &&
		o.window%o.sockets == 0, "--sockets: want a divisor of --window")
	check(within(o.pool, minPool, maxPool), "--pool: want %d..%d", minPool, maxPool)
	check(within(o.headerBytes, 0, maxHeaderBytes), "--header-bytes: want 0..%d", maxHeaderBytes)
	check(o.keys >= 1 && o.keys <= maxKeys, "--keys: want 1..%d", uint64(maxKeys))
	check(o.dist == "one" || o.dist == "uniform" ||
		o.dist == "zipf", "--dist: want one, uniform or zipf, not %q", o.dist)
	check(o.dist != "zipf" || o.skew > 1, "--zipf-s: want more than 1")
	// Only udpFlags gives op a value.
	check(o.op == "" || o.op == "check" || o.op == "peek" ||
		o.op == "count", "--op: want check, peek or count, not %q", o.op)
	// A line of the user's own carries no id that could be written over.
	check(!strings.Contains(o.line, "\n") &&
		(o.line == "" || !o.ids), "--line: want one line, and no --id")
	check(o.timeout > 0, "--timeout: want more than 0")
	// The name goes unescaped into a line, which a space or a newline ends, and into a query, which
	// & ends.
	check(o.rule != "" && !strings.ContainsAny(o.rule, " \n&"),
		"--rule: not a rule name: %q", o.rule)
	return errors.Join(faults...)
}

func within(v, low, high int) bool { return v >= low && v <= high }

// errUsage marks faults the flag package has reported already.
var errUsage = errors.New("bad usage")

// usageCode reports the error to the user unless that was done, and returns the exit code.
// The codes are those of package flag: 0 after -h, 2 for a fault. 1 is kept for runs that lost
// something.
func usageCode(err error, stderr io.Writer) int {
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if !errors.Is(err, errUsage) {
		fmt.Fprintln(stderr, err)
	}
	return 2
}
