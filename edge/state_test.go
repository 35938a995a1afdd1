package edge

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

	"github.com/google/go-cmp/cmp"
)

// quiet is a log that nobody reads.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// TestStateTorn cuts a state at every byte, and turns one bit of every byte: none of it is used.
func TestStateTorn(t *testing.T) {
	t.Parallel()
	all := exampleState(t)
	dir := t.TempDir()
	path := filepath.Join(dir, stateName)
	for n := range all {
		if _, err := decodeState(all[:n]); err == nil {
			t.Fatalf("cut at %d of %d", n, len(all))
		}
		all[n] ^= 1 << (n % 8)
		if _, err := decodeState(all); err == nil {
			t.Fatalf("byte %d of %d turned", n, len(all))
		}
		all[n] ^= 1 << (n % 8)
	}
	for name, content := range map[string][]byte{
		"torn": all[:len(all)/2], "foreign": []byte("something else altogether"), "empty": nil,
		"later version": append([]byte(stateMagic+"\x02"), all[len(stateMagic)+1:]...), "oversize": make([]byte, maxState+1),
	} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		e := newTestEdge(t, 1<<20, shedRule, blockRule)
		s := e.OpenState(dir, quiet())
		if is := s.Stats(e.Now()); is.Ignored != 1 || len(e.flags.Live(e.Now())) != 0 || len(e.Words()) != 1 {
			t.Errorf("%s: %+v", name, is)
		}
	}
	if err := os.WriteFile(path, all, 0o600); err != nil {
		t.Fatal(err)
	}
	e := newTestEdge(t, 1<<20, shedRule, blockRule)
	if is := e.OpenState(dir, quiet()).Stats(e.Now()); is.Ignored != 0 || len(e.flags.Live(e.Now())) != 3 {
		t.Errorf("as it is: %+v, %d flags", is, len(e.flags.Live(e.Now())))
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if is := e.OpenState(dir, quiet()).Stats(e.Now()); is.Ignored != 0 {
		t.Error("a first start is nothing to be ignored")
	}
}

// exampleState returns a state with a record of every type.
func exampleState(t testing.TB) []byte {
	a := newTestAdmin(t, AdminOptions{Local: true})
	a.refuse("block", "blocked")
	a.refuse("shed", "shed")
	a.put(t, "shed", "by hand")
	all, _ := encodeState(nil, a.edge.takeState(a.edge.Now(), false))
	return all
}

// keeper is a node that keeps its state.
type keeper struct {
	*Admin
	testing.TB
	state *State
	log   outcry
	dir   string
	stop  func()
}

// outcry keeps what is logged.
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

// startKeeper runs a keeper until it is stopped.
func startKeeper(t testing.TB) *keeper {
	k := &keeper{Admin: newTestAdmin(t, AdminOptions{Local: true}), TB: t, dir: filepath.Join(t.TempDir(), "made", "here")}
	k.state = k.edge.OpenState(k.dir, slog.New(slog.NewTextHandler(&k.log, nil)))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); k.state.Run(ctx) }()
	k.stop = func() { cancel(); <-done }
	return k
}

// wrote checks how often the state has been written.
func (k *keeper) wrote(want uint64, what string) {
	k.Helper()
	synctest.Wait()
	if is := k.state.Stats(k.edge.Now()); is.Writes != want {
		k.Errorf("%s: %+v, want %d writes", what, is, want)
	}
}

// onDisk returns the file.
func (k *keeper) onDisk() []byte {
	all, err := os.ReadFile(filepath.Join(k.dir, stateName))
	if err != nil {
		k.Fatal(err)
	}
	return all
}

// TestStateRun checks when the state is written.
func TestStateRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := startKeeper(t)
		k.wrote(1, "at the start")
		time.Sleep(10 * time.Second)
		k.wrote(1, "with nothing to say")
		k.put(t, "shed", "k")
		time.Sleep(10 * time.Second)
		k.wrote(2, "after one word")
		k.refuse("block", "b")
		time.Sleep(9500 * time.Millisecond)
		k.wrote(11, "while something is in the window")
		if is, err := os.Stat(filepath.Join(k.dir, stateName)); err != nil || is.Mode().Perm() != 0o600 {
			t.Errorf("%v %v", is.Mode(), err)
		}
		if last, err := decodeState(k.onDisk()); err != nil || last.stopped {
			t.Errorf("before the stop: %+v %v", last, err)
		}
		k.stop()
		k.wrote(12, "at the stop")
		all := k.onDisk()
		if last, err := decodeState(all); err != nil || !last.stopped || int64(len(all)) != k.state.Stats(k.edge.Now()).Bytes {
			t.Errorf("the last state: %+v %v", last, err)
		}
		if names, _ := os.ReadDir(k.dir); len(names) != 1 {
			t.Errorf("left behind: %v", names)
		}
	})
}

// TestStateNotWritten checks that the last state stays when no other can be written, and that little is said of it.
func TestStateNotWritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := startKeeper(t)
		k.refuse("block", "b")
		time.Sleep(1500 * time.Millisecond)
		k.wrote(2, "before")
		before := k.onDisk()
		inWay := filepath.Join(k.dir, stateName+".new", "in the way")
		if err := os.MkdirAll(inWay, 0o700); err != nil {
			t.Fatal(err)
		}
		k.put(t, "shed", "l")
		time.Sleep(61 * time.Second)
		synctest.Wait()
		is := k.state.Stats(k.edge.Now())
		if is.Failures != 61 || is.Writes != 2 || is.Age < 60*time.Second || k.log.complaints() != 3 {
			t.Errorf("%+v, %d lines of it", is, k.log.complaints())
		}
		if !bytes.Equal(before, k.onDisk()) {
			t.Error("the old state is not what it was")
		}
		if err := os.RemoveAll(filepath.Dir(inWay)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		k.wrote(3, "when it can be again")
		if is := k.state.Stats(k.edge.Now()); is.Age > time.Second {
			t.Errorf("%+v", is)
		}
		k.stop()
	})
}

// TestStateBounds: a state never grows beyond its bound, and what does not fit is counted.
func TestStateBounds(t *testing.T) {
	t.Parallel()
	s := &state{written: 1 << 50, rules: []keptRule{{name: "r", window: time.Second}}}
	for n := range 33_000 {
		key := bytes.Repeat([]byte{byte(n), byte(n >> 8)}, 128)
		s.flags = append(s.flags, keptFlag{key: key, source: keptSelf, reason: strings.Repeat("r", 256)})
	}
	all, left := encodeState(nil, s)
	if len(all) > maxState || left == 0 || left > 10_000 {
		t.Errorf("%d bytes, %d left out", len(all), left)
	}
	if back, err := decodeState(all); err != nil || len(back.flags) != len(s.flags)-left {
		t.Errorf("%v", err)
	}
}

// FuzzSnapshot reads any bytes as a state: it is refused, or is the same after another round; and a state that
// was read is put in force without harm, whatever its checksum was made to hide.
func FuzzSnapshot(f *testing.F) {
	f.Add(exampleState(f))
	f.Add([]byte(stateMagic))
	f.Add([]byte{})
	e := newTestEdge(f, 1<<20, shedRule, blockRule)
	f.Fuzz(func(t *testing.T, all []byte) {
		for _, body := range [][]byte{all, all[min(len(all), stateHead):]} { // as a file, and as a body that adds up
			s, err := decodeState(body)
			if err != nil {
				if s, err = decodeBody(body); err != nil {
					continue
				}
			}
			again, left := encodeState(nil, s)
			back, err := decodeState(again)
			if err != nil || left != 0 {
				t.Fatalf("%v, %d left out", err, left)
			}
			if d := cmp.Diff(s, back, cmp.AllowUnexported(state{}, keptRule{}, keptFlag{}, keptCount{}, keptMark{})); d != "" {
				t.Fatal(d)
			}
			if _, err := e.restoreState(e.Now(), s); err != nil && len(e.flags.Live(e.Now())) > 1000 {
				t.Fatal("more than there is room for")
			}
		}
	})
}
