// Package edgetest is shared by tests of whole nodes: patience, and a log that may be read while it
// is written to.
package edgetest

import (
	"bytes"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// Patience is how long something may take on a busy machine that no test is about.
	Patience = 20 * time.Second
	// poll is the time between the first two looks.
	poll = 5 * time.Millisecond
)

// Await returns how long it took until is was true, and fails the test after most. event names the
// condition in the failure.
func Await(t testing.TB, event string, most time.Duration, is func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	for wait := poll; !is(); wait = min(wait*5/4, 6*poll) {
		if took := time.Since(began); took > most {
			t.Errorf("%s: not within %v", event, most)
			return took
		}
		<-time.After(wait)
	}
	return time.Since(began)
}

// Small returns text, a configuration, with the least memory in which everything is on, if text
// names none: the race detector keeps watch over all of a node's memory.
func Small(text string) string {
	if strings.Contains(text, "memory:") {
		return text
	}
	return text + "\nmemory: 4MiB\n" // at the end: lines keep their numbers
}

// Alone marks a test of one goroutine. The race detector, which runs with -short, finds nothing
// there.
func Alone(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("one goroutine")
	}
}

// Rounds is how often, or how much, a test tries: many times in make soak, a few in make test.
func Rounds(few, many int) int {
	if Soak {
		return many
	}
	return few
}

// Seed returns the seed of a test with chance: HEADGATE_TEST_SEED, or else a random number. A test
// that fails logs the seed.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := rand.Uint64() //nolint:gosec // of a test
	if text := os.Getenv("HEADGATE_TEST_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("HEADGATE_TEST_SEED=%d", seed)
		}
	})
	return seed
}

// Dice returns dice by Seed.
func Dice(t testing.TB) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(Seed(t), 0)) //nolint:gosec // to be repeated
}

// tries is how often Within measures at the most.
const tries = 5

// Within calls measure again until it returns no more than most, and fails the test when it never
// did. What else a machine does makes a measurement longer and never shorter: one that is within
// the bound shows what the code can do, and the bound need not leave room for a busy machine. What
// must hold each time, measure checks itself. event names the promise in the failure.
func Within(t testing.TB, event string, most time.Duration, measure func() time.Duration) {
	t.Helper()
	var all []time.Duration
	for range tries {
		took := measure()
		if took <= most {
			return
		}
		all = append(all, took)
	}
	t.Errorf("%s: not within %v: %v", event, most, all)
}

// Log keeps all lines written to it. It may be written to and read at the same time.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write appends b.
func (l *Log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// String returns all that was written so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Noon is the present in tests that name a time.
var Noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// DropTime takes the time out of a line of the log: a ReplaceAttr of slog.HandlerOptions.
func DropTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

// PlainLine returns a line of slog's text handler, written at a second, as "second level text
// fields".
func PlainLine(second int, line string) string {
	line = strings.TrimSuffix(strings.Replace(strings.TrimPrefix(line, "level="), "msg=", "", 1),
		"\n")
	level, rest, _ := strings.Cut(line, " ")
	if text, fields, ok := strings.Cut(strings.TrimPrefix(rest, `"`), `"`); ok &&
		strings.HasPrefix(rest, `"`) {
		rest = text + fields
	}
	return strconv.Itoa(second) + " " + level + " " + rest
}
