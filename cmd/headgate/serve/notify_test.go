package serve

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/door/udp"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// manager is a service manager's end of the socket.
type manager struct {
	*net.UnixConn
	t testing.TB
}

// newManager listens at a path, or at an abstract name that begins with @.
func newManager(t testing.TB, at string) *manager {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: at, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // a test may have
	return &manager{conn, t}
}

// hear returns the next message.
func (m *manager) hear() string {
	m.t.Helper()
	b := make([]byte, 4096) // as many as systemd reads
	if err := m.SetReadDeadline(time.Now().Add(edgetest.Patience)); err != nil {
		m.t.Fatal(err)
	}
	n, err := m.Read(b)
	if err != nil {
		m.t.Fatal(err)
	}
	return string(b[:n])
}

// await returns the next message that begins with a line; signs of life may come at any time.
func (m *manager) await(line string) string {
	m.t.Helper()
	said := m.hear()
	for said == "WATCHDOG=1" && line != said {
		said = m.hear()
	}
	if first, _, _ := strings.Cut(said, "\n"); first != line {
		m.t.Fatalf("said %q, not %s", said, line)
	}
	return said
}

func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for _, pair := range pairs {
			if value, ok := strings.CutPrefix(pair, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

func TestNotifierSaysWhatIs(t *testing.T) {
	abstract := "@headgate-test-" + strconv.Itoa(os.Getpid())
	for _, at := range []string{filepath.Join(t.TempDir(), "notify"), abstract} {
		m := newManager(t, at)
		n := openNotifier(environment("NOTIFY_SOCKET="+at), slog.New(slog.DiscardHandler))
		if n == nil {
			t.Fatalf("%s cannot be told", at)
		}
		n.Ready(1, nil)
		n.Ready(2, errors.New("a.yaml:3:5: \x1b[2J is no\nWATCHDOG=trigger"))
		n.Stopping()
		for _, want := range []string{
			"READY=1\nSTATUS=Deciding by 1 rule",
			"READY=1\nSTATUS=Deciding by 2 rules, for the last reload was refused: a.yaml:3:5: " +
				"\\x1b[2J is no",
			"STOPPING=1\nSTATUS=Answering what has arrived",
		} {
			if got := m.hear(); got != want {
				t.Errorf("said %q, want %q", got, want)
			}
		}
		if err := n.close(); err != nil {
			t.Error(err)
		}
	}
}

// A status is one line, and no longer than it is read.
func TestStatusLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "",
		"a\tb\nREADY=1":                  `a\x09b`,
		strings.Repeat("x", maxStatus):   strings.Repeat("x", maxStatus),
		strings.Repeat("x", maxStatus+1): strings.Repeat("x", maxStatus-3) + "…",
		strings.Repeat("é", maxStatus):   strings.Repeat("é", (maxStatus-3)/2) + "…",
	} {
		if got := statusLine(text); got != want || len(got) > maxStatus {
			t.Errorf("%.20q: %d bytes, %q", text, len(got), got)
		}
	}
}

// Each reload has a time of its own on the clock that the manager goes by.
func TestReloadingTellsWhen(t *testing.T) {
	m := newManager(t, filepath.Join(t.TempDir(), "notify"))
	n := openNotifier(environment("NOTIFY_SOCKET="+m.LocalAddr().String()),
		slog.New(slog.DiscardHandler))
	before := monotonic()
	n.Reloading()
	micros, err := strconv.ParseInt(strings.TrimPrefix(m.hear(), "RELOADING=1\nMONOTONIC_USEC="),
		10, 64)
	at := time.Duration(micros) * time.Microsecond
	if err != nil || at < before.Truncate(time.Microsecond) || at > monotonic() {
		t.Errorf("%v, %v; it was between %v and %v", at, err, before, monotonic())
	}
}

func TestNobodyIsTold(t *testing.T) {
	var log bytes.Buffer
	n := openNotifier(environment(), slog.New(slog.NewTextHandler(&log, nil)))
	if n != nil || log.Len() > 0 {
		t.Errorf("without a manager: %v, %s", n, &log)
	}
	n.Ready(1, nil)
	n.Reloading()
	n.Stopping()
	if err := n.close(); err != nil {
		t.Error(err)
	}
	if n = openNotifier(environment("NOTIFY_SOCKET=/nonexistent"),
		slog.New(slog.NewTextHandler(&log, nil))); n != nil {
		t.Error("told nobody")
	}
	if !strings.Contains(log.String(), "cannot be reported") {
		t.Errorf("log: %s", &log)
	}
}

// A manager that is gone costs one line of log, and the daemon nothing.
func TestManagerGone(t *testing.T) {
	var log bytes.Buffer
	m := newManager(t, filepath.Join(t.TempDir(), "notify"))
	n := openNotifier(environment("NOTIFY_SOCKET="+m.LocalAddr().String()),
		slog.New(slog.NewTextHandler(&log, nil)))
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		n.Ready(1, nil)
	}
	if lines := strings.Count(log.String(), "\n"); lines != 1 ||
		!strings.Contains(log.String(), "READY=1") {
		t.Errorf("%d lines: %s", lines, &log)
	}
}

func TestWatchdogIsAskedFor(t *testing.T) {
	tell := &notifier{}
	for _, c := range []struct {
		env   string
		tell  *notifier
		every time.Duration
	}{
		{"WATCHDOG_USEC=10000000", tell, 2500 * time.Millisecond},
		{"WATCHDOG_USEC=10000000 WATCHDOG_PID=7", tell, 2500 * time.Millisecond},
		{"WATCHDOG_USEC=10000000 WATCHDOG_PID=8", tell, 0}, // somebody else's
		{"WATCHDOG_USEC=10000000", nil, 0},
		{"WATCHDOG_USEC=4", tell, watchdogLeast},
		{"WATCHDOG_USEC=9223372036854775807", tell, 6 * time.Hour},
		{"WATCHDOG_USEC=0", tell, 0},
		{"WATCHDOG_USEC=-1", tell, 0},
		{"WATCHDOG_USEC=soon", tell, 0},
		{"", tell, 0},
	} {
		w := openWatchdog(environment(strings.Fields(c.env)...), 7, c.tell,
			slog.New(slog.DiscardHandler))
		if w.every != c.every {
			t.Errorf("%q: a look each %v, want %v", c.env, w.every, c.every)
		}
	}
}

// The manager's watchdog is fed while the node's loop turns, and not while it stands still.
func TestWatchdogGoesByTheLoops(t *testing.T) {
	var log bytes.Buffer
	m := newManager(t, filepath.Join(t.TempDir(), "notify"))
	to := slog.New(slog.NewTextHandler(&log, nil))
	w := &watchdog{
		tell: openNotifier(environment("NOTIFY_SOCKET="+m.LocalAddr().String()), to),
		log:  to,
	}
	e, err := edge.NewGate(config.Default(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	step := func(turns bool) {
		if turns {
			e.Turn(1, e.Now(), time.Now())
		}
		w.look(udp.Look(e.Turns()))
	}
	w.last = udp.Look(e.Turns())
	step(true)
	step(false)
	step(false)
	step(true)
	w.tell.Stopping()
	for range 2 {
		if got := m.hear(); got != "WATCHDOG=1" {
			t.Errorf("said %q", got)
		}
	}
	m.await("STOPPING=1")
	if lines := strings.Count(log.String(), "\n"); lines != 1 ||
		!strings.Contains(log.String(), "control loop") {
		t.Errorf("%d lines: %s", lines, &log)
	}
}

// A daemon tells its manager all its life: see deploy/headgate.service.
func TestServeTellsTheManager(t *testing.T) {
	m := newManager(t, filepath.Join(t.TempDir(), "notify"))
	file := filepath.Join(t.TempDir(), "headgate.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte("listen: {udp: \"127.0.0.1:0\", http: [], admin: "+
			"[]}\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("rules: [{name: a, limit: 1, window: 1s}]\n")
	a := cli.NewApp(io.Discard, t.Output())
	a.Getenv = environment("NOTIFY_SOCKET="+m.LocalAddr().String(), "WATCHDOG_USEC=1200000")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	var serving sync.WaitGroup
	serving.Go(func() {
		ended <- a.Run(ctx, []cli.Entry{{Build: Command}},
			[]string{"serve", "-c", file})
	})
	t.Cleanup(func() { // what it logs is this test's, also where that fails
		stop()
		serving.Wait()
	})

	if said := m.await("READY=1"); said != "READY=1\nSTATUS=Deciding by 1 rule" {
		t.Errorf("ready: %q", said)
	}
	m.await("WATCHDOG=1")
	write("rules: [{name: a, limit: 1, window: 1s}, {name: b, limit: 1, window: 1s}]\n")
	hangUp(t)
	m.await("RELOADING=1")
	if said := m.await("READY=1"); said != "READY=1\nSTATUS=Deciding by 2 rules" {
		t.Errorf("reloaded: %q", said)
	}
	write("rules: [{name: a}]\n")
	hangUp(t)
	m.await("RELOADING=1")
	if said := m.await("READY=1"); !strings.Contains(said, "by 2 rules, for the last reload was "+
		"refused: "+file+":2:") {
		t.Errorf("refused: %q", said)
	}
	stop()
	m.await("STOPPING=1")
	if code := <-ended; code != cli.ExitOK {
		t.Errorf("exit %d", code)
	}
}

// hangUp sends this process SIGHUP, for which a daemon in it waits.
func hangUp(t testing.TB) {
	t.Helper()
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Signal(syscall.SIGHUP)
	}
	if err != nil {
		t.Fatal(err)
	}
}
