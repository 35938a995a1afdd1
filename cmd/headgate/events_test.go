package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// runAside runs headgate with args until ctx ends, and returns its output and, once it has ended,
// its exit code.
func runAside(
	ctx context.Context, t *testing.T, errs io.Writer, args ...string,
) (stdout *bufio.Reader, code <-chan int) {
	t.Helper()
	read, write := io.Pipe()
	ended := make(chan int, 1)
	var running sync.WaitGroup
	running.Go(func() {
		ended <- run(ctx, args, write, errs)
		_ = write.Close()
	})
	t.Cleanup(func() {
		_ = read.Close()
		running.Wait()
	})
	return bufio.NewReader(read), ended
}

// printedEvent is an event as --json prints it.
type printedEvent struct {
	Event string
	Data  json.RawMessage
}

// TestEventsOfADaemon follows a real daemon: a flag by hand is set and lifted, its log says so, and
// its end ends the stream.
func TestEventsOfADaemon(t *testing.T) {
	b := newBench(t)
	at := "unix:" + filepath.Join(t.TempDir(), "admin.sock")
	file := b.file("serve.yaml", "node: edge-1\nlisten: {udp: \"127.0.0.1:0\", http: [], admin: \""+
		at+"\"}\n")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var log edgetest.Log
	greeting, served := runAside(ctx, t, &log, "serve", "-c", file, "--log-format", "json")
	if line, _ := greeting.ReadString('\n'); !strings.HasPrefix(line, "headgate ") {
		t.Fatalf("%q, %s", line, log.String())
	}
	go func() { _, _ = io.Copy(io.Discard, greeting) }()
	var complaint edgetest.Log
	lines, ended := runAside(t.Context(), t, &complaint, "events", "--json", "--admin", at)
	next := func(event string) (v api.MitigationView) {
		t.Helper()
		var line printedEvent
		text, _ := lines.ReadBytes('\n')
		if json.Unmarshal(text, &line) != nil || line.Event != event ||
			json.Unmarshal(line.Data, &v) != nil {
			t.Fatalf("%s, want %s; %s", text, event, complaint.String())
		}
		return v
	}
	next(api.EventHello)
	for _, args := range [][]string{{
		"block", "login", "\x1b[2J", "--reason", "a test", "--admin",
		at,
	}, {"unblock", "login", "\x1b[2J", "--admin", at}} {
		if code, _, stderr := b.run(t.Context(), args...); code != cli.ExitOK {
			t.Fatalf("%q: %d, %s", args, code, stderr)
		}
		event := map[string]string{
			"block":   api.EventFlagSet,
			"unblock": api.EventFlagCleared,
		}[args[0]]
		if v := next(event); v.Key != `\x1b[2J` || v.Reason != "a test" || v.Action != "block" {
			t.Errorf("%+v", v)
		}
	}
	began := time.Now()
	stop()
	if code := <-served; code != cli.ExitOK || time.Since(began) > edgePatience {
		t.Errorf("exit %d after %v", code, time.Since(began))
	}
	if code := <-ended; code != cli.ExitFailed || !strings.Contains(complaint.String(),
		"closed the stream") {
		t.Errorf("exit %d: %s", code, complaint.String())
	}
	for line := range strings.Lines(log.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %s", line)
		}
	}
	for _, want := range []string{
		`"msg":"mitigation set"`, `"msg":"mitigation cleared"`,
		`"msg":"admin: changed"`,
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %s in\n%s", want, log.String())
		}
	}
}

// edgePatience is how long a daemon that streams may take to stop: less than an answer under way is
// waited for.
const edgePatience = 4 * time.Second
