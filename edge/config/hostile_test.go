package config_test

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

const (
	// timeBudget is the processor time that one file may take, however it was made.
	timeBudget = 100 * time.Millisecond
	// allocBudget is the most that one file may allocate in all, in bytes.
	allocBudget = 32 << 20
)

// parse parses data and fails unless the result is whole: a Config that survives being written,
// or faults that stand inside the file, in order.
func parse(tb testing.TB, data []byte) error {
	tb.Helper()
	c, err := config.Parse("f.yaml", data)
	if err == nil {
		roundTrip(tb, c)
		return nil
	}
	lines := 1 + strings.Count(string(data), "\n")
	last := config.Fault{Line: 1, Col: 1}
	for _, f := range faultsOf(tb, err) {
		if f.Line < last.Line || (f.Line == last.Line && f.Col < last.Col) {
			tb.Fatalf("%v comes after %v", f, last)
		}
		if f.Line > lines || f.Message == "" || f.File != "f.yaml" ||
			strings.ContainsAny(f.String(), "\n\x00") {
			tb.Fatalf("not a fault of a file of %d lines: %q\n%q", lines, f, data)
		}
		last = f
	}
	return err
}

// seeds returns every file of the tests, and the documented example.
func seeds(tb testing.TB) [][]byte {
	tb.Helper()
	list := [][]byte{read(tb, "../../deploy/headgate.yaml")}
	for _, dir := range []string{"good", "bad"} {
		for _, path := range yamlFiles(tb, dir) {
			list = append(list, read(tb, path))
		}
	}
	return list
}

func FuzzConfig(f *testing.F) {
	for _, seed := range seeds(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_ = parse(t, data) // judged in there
		// One slow run proves nothing, three do.
		if took := fastest(t, 3,
			func() { _, _ = config.Parse("f.yaml", data) }); took > timeBudget {
			t.Errorf("took %v at best", took)
		}
	})
}

// fastest returns the least processor time of at most n runs; one within the budget is enough. It
// is not the time on the wall, which is for the most part other people's on a machine with two
// cores.
func fastest(tb testing.TB, n int, run func()) time.Duration {
	tb.Helper()
	best := time.Duration(1<<63 - 1)
	for range n {
		start := processorTime(tb)
		run()
		if best = min(best, processorTime(tb)-start); best <= timeBudget {
			break
		}
	}
	return best
}

// processorTime returns the processor time of this process so far.
func processorTime(tb testing.TB) time.Duration {
	tb.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// TestMutatedConfigs damages good files a thousand times over: nothing crashes, and a file that is
// still accepted is whole.
func TestMutatedConfigs(t *testing.T) {
	const mutants = 1000
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0)) // replayable on purpose
	files := seeds(t)
	refused := 0
	for range mutants {
		data := mutate(rng, files[rng.IntN(len(files))])
		if parse(t, data) != nil {
			refused++
		}
	}
	if refused == 0 || refused == mutants {
		t.Errorf("%d of %d refused: the mutations show nothing", refused, mutants)
	}
}

// mutate returns data with one to four of its lines, words or bytes damaged.
func mutate(rng *rand.Rand, data []byte) []byte {
	words := []string{
		"-1", "0", "1e9", "~", "[]", "{}", "*a", "&a", "<<", "!!str", "\"", "'",
		"---", "\t", "010", "10s", "block", "rules", ": ", "- ", "#", "|", ">",
	}
	const noise = "\x00\x01\t\r\n\x7f\x80\xc3\xff \"'[]{}&*!%@`|>,0a"
	text := string(data)
	for range 1 + rng.IntN(4) {
		at := rng.IntN(len(text) + 1)
		to := min(len(text), at+rng.IntN(12))
		switch rng.IntN(4) {
		case 0:
			text = text[:at] + text[to:]
		case 1:
			text = text[:to] + text[at:]
		case 2:
			text = text[:at] + words[rng.IntN(len(words))] + text[at:]
		case 3:
			n := rng.IntN(len(noise))
			text = text[:at] + noise[n:n+1] + text[at:]
		}
	}
	return []byte(text)
}

// hostile returns files of the greatest size that are hard to parse, each in its own way.
func hostile() map[string]string {
	const room = 64 // bytes for the text before and after
	fill := func(piece string) string {
		return strings.Repeat(piece,
			(config.MaxBytes-room)/len(piece))
	}
	files := map[string]string{}
	for _, piece := range []string{
		"- a\n", "a: b\n", "#\n", "  # x\n", "---\n", "--- a\n", "[", "{", "? ", "- ", "{a: ", "\n",
		" ", "\r\n", "\t", "a\n", "a:\n - b\n",
		"a: b # c\n", "#c\na: b\n", "- a\n# c\n\n", "!a ", "&a ", "*a ", "%YAML 1.1\n", "x: *a\n",
		"\"", "'", "a: |\n x\n", "a,", "? a\n: b\n", strings.Repeat("- ", 40) + "a\n",
		"\u00e9: 1\n",
	} {
		files[piece] = fill(piece)
	}
	for name, text := range map[string]string{
		"flow list":    "[" + fill("a,"),
		"flow in flow": "[" + fill("{},"),
		"open quote":   "a: \"" + fill("x "),
		"open lines":   "a: \"" + fill("\n"),
		"long plain":   "a: " + fill("x "),
		"plain lines":  "a: " + fill("x\n "),
		"long key":     fill("k") + ": 1",
		"aliases":      "- &a b\n" + fill("- *a\n"),
		"rules":        "rules:\n" + fill("- {name: a, limit: 1, window: 1s}\n"),
		"bad rules":    "rules:\n" + fill("- {nam: a}\n"),
		"late bracket": "pop: [\n" + fill("an item of a list that nobody closes, and that goes "+
			"on for long\n") + "b: c: d\n",
		"open at end": fill("# comment\n") + "a: [\n",
		"late fault": fill("pop: lhr # and a few more words to make the line long\n") +
			"a: b: c\n",
	} {
		files[name] = text
	}
	return files
}

func TestHostileFilesStayInBudget(t *testing.T) {
	edgetest.Alone(t)
	for name, text := range hostile() {
		data := []byte(text)
		if err := parse(t, data); err == nil || strings.Contains(err.Error(), "larger than") {
			t.Errorf("%q: got %v, want another fault", name, err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := config.Parse("f.yaml", data)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > allocBudget {
			t.Errorf("%q allocated %d MiB: %.100v", name, used>>20, err)
		}
		if took := fastest(t, 5,
			func() { _, _ = config.Parse("f.yaml", data) }); took > timeBudget {
			t.Errorf("%q took %v at best: %.100v", name, took, err)
		}
	}
}

// TestOneByteTooMany is the bound that all the others lean on.
func TestOneByteTooMany(t *testing.T) {
	_, err := config.Parse("f", make([]byte, config.MaxBytes+1))
	var faults config.Faults
	if !errors.As(err, &faults) || faults[0].Message != "larger than 1 MiB" {
		t.Errorf("got %v", err)
	}
}
