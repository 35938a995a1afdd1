// Command report reads the streams of one or more `go test -json` runs and prints a summary
// for people: a line for each package, the whole output of what failed, and at the very end each
// test that ran in no pass, by name and with its reason, then the count.
//
//	go test -json -race ./... ┐
//	go test -json ./...       ┴─► report ─► ok/FAIL lines, output of failures
//	                                        skipped: TestX: reason
//	                                        12 passed, 0 failed, 1 skipped
//
// It exits 1 when a test or a build failed, when nothing ran at all, and, under CI=true, when a
// test was skipped in every pass.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// maxLine bounds one line of the stream, in bytes; longer ones end the report with an error.
// A test that prints a whole page of HTML does so in one line.
const maxLine = 16 << 20

func main() {
	r := newReport(os.Stdout)
	if err := r.read(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
	os.Exit(r.finish(os.Getenv("CI") == "true"))
}

// event is one line of `go test -json` (see `go doc test2json`).
type event struct {
	Action     string
	Package    string
	ImportPath string // of build-output and build-fail
	Test       string
	Output     string
	Elapsed    float64 // seconds
}

// outcome is the result of a test. Of several passes the greatest counts.
// Their order is that of their weight: of two passes a failure wins, and a test that ran in one of
// them was not skipped.
type outcome int

const (
	unseen outcome = iota
	skipped
	passed
	failed
)

// test holds the results of one test: one name in one package.
type test struct {
	output []string // of the pass that is running
	result outcome
	reason string // of the last skip
}

// report gathers the events of all passes.
type report struct {
	out io.Writer
	// by package, a space, and the test's name; a package's own name is empty
	tests  map[string]*test
	broken int // packages that failed with no failed test to blame
}

func newReport(out io.Writer) *report {
	return &report{out: out, tests: map[string]*test{}}
}

// read takes in a stream to its end. Lines that are not JSON (the go command's own words) are
// shown.
func (r *report) read(stream io.Reader) error {
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil || e.Action == "" {
			fmt.Fprintln(r.out, lines.Text())
			continue
		}
		r.take(e)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read the test stream: %w", err)
	}
	return nil
}

// A test begins with each pass, and its output with it: only the pass that failed is shown.
func (r *report) take(e event) {
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "start", "run":
		r.test(e).output = nil
	case "output":
		t := r.test(e)
		t.output = append(t.output, e.Output)
	case "pass", "fail", "skip":
		r.end(e)
	}
}

// test returns the record of the test that e is about.
func (r *report) test(e event) *test {
	name := e.Package + " " + e.Test
	if r.tests[name] == nil {
		r.tests[name] = &test{}
	}
	return r.tests[name]
}

func (r *report) end(e event) {
	t := r.test(e)
	result := map[string]outcome{"pass": passed, "fail": failed, "skip": skipped}[e.Action]
	if result == skipped {
		t.reason = reason(t.output)
	}
	t.result = max(t.result, result)
	if e.Test == "" {
		r.endPackage(e, t)
	} else if result == failed {
		fmt.Fprint(r.out, strings.Join(t.output, ""))
	}
	t.output = nil
}

// endPackage prints a package's line, and its own output where it failed: a panic, a data race or a
// build that broke ends there rather than in a test.
func (r *report) endPackage(e event, t *test) {
	switch e.Action {
	case "fail":
		r.blame(e.Package)
		fmt.Fprint(r.out, strings.Join(t.output, ""))
		fmt.Fprintf(r.out, "FAIL  %s\n", e.Package)
	case "pass":
		fmt.Fprintf(r.out, "ok    %-52s %6.1fs\n", e.Package, e.Elapsed)
	}
}

// blame counts a failed package as one failure when none of its tests is known to have failed, and
// fails the tests that it left running.
// A timeout or a panic ends the package without an event for the tests that were running.
func (r *report) blame(pkg string) {
	found := false
	for name, t := range r.tests {
		inPackage := strings.HasPrefix(name, pkg+" ") && !strings.HasSuffix(name, " ")
		if inPackage && len(t.output) > 0 { // began in this pass and never ended
			t.result = failed
			fmt.Fprint(r.out, strings.Join(t.output, ""))
			t.output = nil
		}
		found = found || inPackage && t.result == failed
	}
	if !found {
		r.broken++
	}
}

// reason returns the words of a skipped test: its output without the frame that go test adds.
// As in "    x_test.go:12: nginx is not installed".
func reason(output []string) string {
	var words []string
	for _, line := range output {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "--- ") {
			continue
		}
		words = append(words, line)
	}
	return strings.Join(words, " ")
}

// finish prints the skipped tests, then the count, and returns the exit code. A skip fails when
// strict. Nothing that passed means that nothing ran, which must not look like success.
func (r *report) finish(strict bool) int {
	count := map[outcome]int{failed: r.broken}
	for _, name := range slices.Sorted(maps.Keys(r.tests)) {
		t, short := r.tests[name], name[strings.LastIndexByte(name, ' ')+1:]
		if short == "" {
			continue
		}
		count[t.result]++
		switch t.result {
		case failed:
			fmt.Fprintf(r.out, "failed: %s\n", name)
		case skipped:
			fmt.Fprintf(r.out, "skipped: %s: %s\n", short, t.reason)
		}
	}
	fmt.Fprintf(r.out, "%d passed, %d failed, %d skipped\n", count[passed],
		count[failed], count[skipped])
	if count[failed] > 0 || count[passed] == 0 || strict && count[skipped] > 0 {
		return 1
	}
	return 0
}
