package state

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/state/codec"
)

// quiet is a log that nobody reads.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// TestStateTorn cuts a state at every byte, and turns one bit of every byte: none of it is used.
func TestStateTorn(t *testing.T) {
	t.Parallel()
	all := exampleState(t)
	dir := t.TempDir()
	path := filepath.Join(dir, fileName)
	for n := range all {
		if _, err := codec.Decode(all[:n]); err == nil {
			t.Fatalf("cut at %d of %d", n, len(all))
		}
		all[n] ^= 1 << (n % 8)
		if _, err := codec.Decode(all); err == nil {
			t.Fatalf("byte %d of %d turned", n, len(all))
		}
		all[n] ^= 1 << (n % 8)
	}
	for name, content := range map[string][]byte{
		"torn": all[:len(all)/2], "foreign": []byte("something else altogether"), "empty": nil,
		"later version": append([]byte("headgate\x02"), all[len("headgate\x02"):]...),
		"oversize":      make([]byte, codec.MaxBytes+1),
	} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		g := gatetest.New(t, 1<<20, gatetest.Shed, gatetest.Block)
		s := Open(g, dir, Digests{}, quiet())
		if is := s.Stats(g.Now()); is.Ignored != 1 || len(flags(g)) != 0 ||
			g.OverrideStats().Held != 0 {
			t.Errorf("%s: %+v", name, is)
		}
	}
	if err := os.WriteFile(path, all, 0o600); err != nil {
		t.Fatal(err)
	}
	g := gatetest.New(t, 1<<20, gatetest.Shed, gatetest.Block)
	is := Open(g, dir, Digests{}, quiet()).Stats(g.Now())
	if is.Ignored != 0 || len(flags(g)) != 3 {
		t.Errorf("as it is: %+v, %d flags", is, len(flags(g)))
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if is := Open(g, dir, Digests{}, quiet()).Stats(g.Now()); is.Ignored != 0 {
		t.Error("a first start is nothing to be ignored")
	}
}

// exampleState returns a state with a record of every type.
func exampleState(t testing.TB) []byte {
	g := fourRules(t, nil)
	gatetest.Refuse(g, "block", "blocked")
	gatetest.Refuse(g, "shed", "shed")
	block(t, g, "shed", "by hand")
	all, _ := codec.Encode(nil, g.Snapshot(g.Now(), false))
	return all
}

// node is a gate whose state is written.
type node struct {
	testing.TB
	gate  *gate.Gate
	state *File
	log   outcry
	dir   string
	stop  func()
}

// outcry collects the log.
type outcry struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *outcry) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

// complaints counts the lines that say that the state was not written.
func (o *outcry) complaints() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Count(o.text.String(), "state not written")
}

// startNode runs a node until it is stopped.
func startNode(t testing.TB) *node {
	n := &node{TB: t, gate: fourRules(t, nil), dir: filepath.Join(t.TempDir(), "made", "here")}
	n.state = Open(n.gate, n.dir, Digests{}, slog.New(slog.NewTextHandler(&n.log, nil)))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); n.state.Run(ctx) }()
	n.stop = func() { cancel(); <-done }
	return n
}

// wrote checks how often the state has been written.
func (n *node) wrote(want uint64, what string) {
	n.Helper()
	synctest.Wait()
	if is := n.state.Stats(n.gate.Now()); is.Writes != want {
		n.Errorf("%s: %+v, want %d writes", what, is, want)
	}
}

// onDisk returns the file.
func (n *node) onDisk() []byte {
	all, err := os.ReadFile(filepath.Join(n.dir, fileName))
	if err != nil {
		n.Fatal(err)
	}
	return all
}

// TestStateRun checks when the state is written.
func TestStateRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := startNode(t)
		n.wrote(1, "at the start")
		time.Sleep(10 * time.Second)
		n.wrote(1, "with nothing to say")
		block(t, n.gate, "shed", "k")
		time.Sleep(10 * time.Second)
		n.wrote(2, "after one word")
		gatetest.Refuse(n.gate, "block", "b")
		time.Sleep(9500 * time.Millisecond)
		n.wrote(11, "while something is in the window")
		if is, err := os.Stat(filepath.Join(n.dir, fileName)); err != nil ||
			is.Mode().Perm() != 0o600 {
			t.Errorf("%v %v", is.Mode(), err)
		}
		if last, err := codec.Decode(n.onDisk()); err != nil || last.Stopped {
			t.Errorf("before the stop: %+v %v", last, err)
		}
		n.stop()
		n.wrote(12, "at the stop")
		all := n.onDisk()
		if last, err := codec.Decode(all); err != nil || !last.Stopped ||
			int64(len(all)) != n.state.Stats(n.gate.Now()).Bytes {
			t.Errorf("the last state: %+v %v", last, err)
		}
		if names, _ := os.ReadDir(n.dir); len(names) != 1 {
			t.Errorf("left behind: %v", names)
		}
	})
}

// TestStateNotWritten checks that the last state stays when no other can be written, and that
// little is said of it.
func TestStateNotWritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := startNode(t)
		gatetest.Refuse(n.gate, "block", "b")
		time.Sleep(1500 * time.Millisecond)
		n.wrote(2, "before")
		before := n.onDisk()
		inWay := filepath.Join(n.dir, fileName+".new", "in the way")
		if err := os.MkdirAll(inWay, 0o700); err != nil {
			t.Fatal(err)
		}
		block(t, n.gate, "shed", "l")
		time.Sleep(61 * time.Second)
		synctest.Wait()
		is := n.state.Stats(n.gate.Now())
		if is.Failures != 61 || is.Writes != 2 || is.Age < 60*time.Second ||
			n.log.complaints() != 3 {
			t.Errorf("%+v, %d lines of it", is, n.log.complaints())
		}
		if !bytes.Equal(before, n.onDisk()) {
			t.Error("the old state is not what it was")
		}
		if err := os.RemoveAll(filepath.Dir(inWay)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		n.wrote(3, "when it can be again")
		if is := n.state.Stats(n.gate.Now()); is.Age > time.Second {
			t.Errorf("%+v", is)
		}
		n.stop()
	})
}
