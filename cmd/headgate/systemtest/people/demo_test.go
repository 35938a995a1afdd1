//go:build !race

package people

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/ask"
	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/cmd/headgate/clitest"
	"github.com/headgate-dev/headgate/cmd/headgate/demo"
	"github.com/headgate-dev/headgate/cmd/headgate/demo/story"
	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	"github.com/headgate-dev/headgate/edge/edgetest"
	"go.uber.org/goleak"
)

// overheard is a stream whose lines a test may wait for.
type overheard struct {
	edgetest.Log
	lines chan string
	in    *io.PipeWriter
	read  sync.WaitGroup
}

// overhear returns a stream that keeps its lines and hands them over.
func overhear(t *testing.T) *overheard {
	t.Helper()
	out, in := io.Pipe()
	o := &overheard{lines: make(chan string, 10_000), in: in}
	o.read.Go(func() {
		defer close(o.lines)
		for scan := bufio.NewScanner(out); scan.Scan(); {
			o.lines <- scan.Text()
		}
	})
	return o
}

// Write implements io.Writer.
func (o *overheard) Write(b []byte) (int, error) {
	_, _ = o.Log.Write(b) // never fails
	return o.in.Write(b)
}

// end closes the stream.
func (o *overheard) end() {
	_ = o.in.Close() // never fails
	o.read.Wait()
}

// await returns the first line, of those to come, that holds all texts.
func (o *overheard) await(t *testing.T, texts ...string) string {
	t.Helper()
	late := time.NewTimer(edgetest.Patience)
	defer late.Stop()
next:
	for {
		select {
		case line, open := <-o.lines:
			if !open {
				t.Fatalf("it ended without a line that holds %q: %s", texts, o)
			}
			for _, text := range texts {
				if !strings.Contains(line, text) {
					continue next
				}
			}
			return line
		case <-late.C:
			t.Fatalf("no line holds %q: %s", texts, o)
		}
	}
}

// demoRun is a demo that runs beside a test.
type demoRun struct {
	stdout strings.Builder
	stderr *overheard
	code   int
	over   chan struct{}
}

// runDemo begins a demo with a temporary directory of its own; goroutines, processes and files that
// it leaves behind fail the test.
func runDemo(ctx context.Context, t *testing.T, args ...string) *demoRun {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	goroutines, children := goleak.IgnoreCurrent(), childrenOf(t)
	r := &demoRun{stderr: overhear(t), over: make(chan struct{})}
	go func() {
		defer close(r.over)
		r.code = systemtest.RunCommand(ctx, cli.Entry{Build: demo.Command},
			append([]string{"demo", "--json"}, args...),
			&r.stdout, r.stderr)
	}()
	t.Cleanup(func() {
		<-r.over
		r.stderr.end()
		var left error // a probe of memberlist's waits a little longer for its answer
		edgetest.Await(t, "no goroutine is left", edgetest.Patience, func() bool {
			left = goleak.Find(goroutines)
			return left == nil
		})
		if left != nil {
			t.Error(left)
		}
		for pid, command := range childrenOf(t) {
			if _, before := children[pid]; !before {
				t.Errorf("a child is left: %q", command)
			}
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
			t.Errorf("files are left: %q", left)
		}
	})
	return r
}

// childrenOf returns the commands of this process's children, by their ids.
func childrenOf(t *testing.T) (commands map[string]string) {
	t.Helper()
	commands = map[string]string{}
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		pids, _ := os.ReadFile(list) // a thread may be gone
		for pid := range strings.FieldsSeq(string(pids)) {
			command, _ := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
			commands[pid] = strings.ReplaceAll(string(command), "\x00", " ")
		}
	}
	return commands
}

// summary waits for the end and returns the result that the demo printed.
func (r *demoRun) summary(t *testing.T) (s story.Summary) {
	t.Helper()
	<-r.over
	if r.code != cli.ExitOK {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
	if err := json.Unmarshal([]byte(r.stdout.String()), &s); err != nil {
		t.Fatalf("%v: %s", err, r.stdout.String())
	}
	return s
}

// TestDemo plays the whole story in the shortest time, with real memcached, and reads a PoP's top
// list and dashboard meanwhile.
func TestDemo(t *testing.T) {
	clitest.ProgramPath(t, "memcached")
	r := runDemo(t.Context(), t, "--duration", story.Shortest.String(), "--seed", "7")
	admin := clitest.Field(r.stderr.await(t, "pop ", "name=lhr", "memcached 1."), "admin")
	attacker := clitest.Field(r.stderr.await(t, "mitigation ", "pop=lhr", "change=set"), "key")
	var stdout, stderr strings.Builder
	if code := systemtest.RunCommand(t.Context(), cli.Entry{Build: ask.Top},
		[]string{"top", "--admin", admin}, &stdout,
		&stderr); code != cli.ExitOK || !strings.Contains(stdout.String(), attacker) {
		t.Errorf("top of lhr, which flagged %s: exit %d\n%s%s", attacker, code, &stdout, &stderr)
	}
	if page := (&systemtest.Node{TB: t, ID: "lhr-1", Admin: admin}).Get(
		"/"); !strings.Contains(page,
		"<html") {
		t.Errorf("the dashboard is no page: %.200s", page)
	}
	s := r.summary(t)
	t.Log(r.stdout.String())
	if !s.Complete || s.Seed != 7 {
		t.Errorf("complete %v, seed %d", s.Complete, s.Seed)
	}
	judgePhases(t, &s)
	if s.Normal.Denied != 0 || s.Normal.Asked < 1000 || s.Normal.Unanswered > s.Normal.Asked/100 {
		t.Errorf("of the normal clients: %+v", s.Normal)
	}
	for _, p := range s.PoPs {
		if !strings.HasPrefix(p.Ring, "memcached 1.") || p.Attack.Denied == 0 {
			t.Errorf("%+v", p)
		}
		if !flaggedIn(&s, p.PoP) {
			t.Errorf("%s never flagged the attacker: %+v", p.PoP, s.Mitigations)
		}
	}
}

// judgePhases checks that the attack was admitted its limit, over the phases in which the machine
// kept up: no request waited longer than keptUp for its answer. In others clients send late, or
// nodes flush late, and the figures are the machine's.
func judgePhases(t *testing.T, s *story.Summary) {
	t.Helper()
	const (
		keptUp = 0.06 // seconds: little more than a flush of the PoPs, 50 ms
		// of the limit: in so short a story the attack moves faster than the PoPs exchange reports
		wide = 0.15
		busy = 0.60
	)
	if len(s.Attack.Phases) != 5 {
		t.Errorf("%d phases, want 5: %+v", len(s.Attack.Phases), s.Attack.Phases)
	}
	admitted, seconds, before := 0, 0.0, 0.0
	for _, p := range s.Attack.Phases {
		if max(p.Delay, before) <= keptUp { // the phase after a late one makes up for it
			admitted, seconds = admitted+p.Admitted, seconds+p.Seconds
		}
		before = p.Delay
		t.Logf("%s: %.3f of the limit, the longest wait for an answer %.0f ms", p.Phase,
			p.OfLimit, 1000*p.Delay)
	}
	// of 6.7 s; growth, the longest phase, is among them
	if share := float64(admitted) / (seconds * story.Limit); seconds > 3.5 &&
		math.Abs(share-1) > wide {
		t.Errorf("in %.1f s in which the machine kept up the attack was admitted %.3f of its limit",
			seconds, share)
	}
	// however busy the machine: most of the attack is denied, and not all of it
	if math.Abs(s.Attack.OfLimit-1) > busy {
		t.Errorf("the attack was admitted %.3f of its limit", s.Attack.OfLimit)
	}
}

// flaggedIn reports whether a PoP had a flag of the attacker.
func flaggedIn(s *story.Summary, pop string) bool {
	for _, w := range s.Mitigations {
		if w.PoP == pop && w.Key == s.Attack.Key && w.Action == "shed" && w.Ratio > 0 {
			return true
		}
	}
	return false
}

// TestDemoInterrupted ends a demo without an end, on a machine without memcached.
func TestDemoInterrupted(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	r := runDemo(ctx, t, "--duration", "0")
	r.stderr.await(t, "pop ", "name=nyc", "stand-in")
	r.stderr.await(t, "second ", "pop=all")
	interrupt()
	s := r.summary(t)
	if s.Complete || s.Held || s.Normal.Asked == 0 || s.Normal.Denied != 0 ||
		s.Normal.Unanswered != 0 {
		t.Errorf("%+v", s)
	}
}

// TestDemoInterruptedAtOnce ends it before it began, with memcached and without.
func TestDemoInterruptedAtOnce(t *testing.T) {
	for name, path := range map[string]string{
		"memcached": os.Getenv("PATH"),
		"stand-in":  t.TempDir(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PATH", path)
			ctx, interrupt := context.WithCancel(t.Context())
			interrupt()
			r := runDemo(ctx, t)
			<-r.over
			if r.code != cli.ExitOK || r.stdout.String() != "" || fmt.Sprint(r.stderr) != "" {
				t.Errorf("exit %d: %q %s", r.code, r.stdout.String(), r.stderr)
			}
		})
	}
}
