package edge

import (
	"context"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/window"
)

const (
	stateName = "headgate.state"

	// stateEvery is how often the state is written while anything in it changes.
	stateEvery = time.Second
	// complainEvery is how often a state that cannot be written is logged of.
	complainEvery = 30 * time.Second
)

// State keeps what a node must not forget in a directory: operators' words, its flags, and what the keys that
// are flagged or near their limits were admitted. A node that was killed so goes on where it was.
//
//	OpenState: file ─► decodeState ─► restoreState ─► words, flag table, slots       before the doors open
//	Run: takeState ─► encodeState ─► temporary file ─► fsync ─► rename               every second, and at the end
//
// Nothing on the decision path waits for it. One node keeps one directory; two would each restore what the other
// was the last to write.
type State struct {
	edge *Edge
	dir  string
	log  *slog.Logger

	buf        []byte
	content    uint64 // checksum of what was written last, its time aside
	written    bool   // by this process
	failing    bool
	complained window.Instant

	writes, failures, ignored, left atomic.Uint64
	bytes, at                       atomic.Int64 // of the state on disk; Instant at which it was true, 0: never
}

// OpenState restores what is kept of e in dir, and returns what keeps it there once it runs. A directory or a
// file that cannot be used is logged, counted, and otherwise as if nothing had been kept. e must not decide yet.
func (e *Edge) OpenState(dir string, log *slog.Logger) *State {
	s := &State{edge: e, dir: dir, log: log}
	e.keeper = s
	if err := os.MkdirAll(dir, 0o700); err != nil {
		log.Warn("state_dir cannot be made", "error", err)
	}
	now := e.Now()
	is, err := s.restore(now)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		log.Info("no state from before", "state_dir", dir)
	case err != nil:
		s.ignored.Add(1)
		log.Warn("state from before ignored: starting without flags and counts", "state_dir", dir, "error", err)
	default:
		log.Info("state restored", "state_dir", dir, "words", is.words, "flags", is.flags, "counts", is.counts)
	}
	return s
}

func (s *State) restore(now window.Instant) (restored, error) {
	all, err := readState(filepath.Join(s.dir, stateName))
	if err != nil {
		return restored{}, err
	}
	kept, err := decodeState(all)
	if err != nil {
		return restored{}, err
	}
	return s.edge.restoreState(now, kept)
}

// readState reads at most maxState bytes of a regular file.
func readState(path string) ([]byte, error) {
	is, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read state: %w", err)
	case !is.Mode().IsRegular():
		return nil, fmt.Errorf("%s: %w", path, errStateForeign)
	case is.Size() > maxState:
		return nil, fmt.Errorf("%s: %w", path, errStateSize)
	}
	f, err := os.Open(path) //nolint:gosec // the operator names its directory
	if err != nil {
		return nil, fmt.Errorf("read state: %w", err)
	}
	all, err := io.ReadAll(io.LimitReader(f, maxState+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("read state: %w", err)
	}
	return all, nil
}

// Run writes the state until ctx ends, and once more then.
func (s *State) Run(ctx context.Context) {
	tick := time.NewTicker(stateEvery)
	defer tick.Stop()
	s.keep(s.edge.Now(), false) // or a node that dies young again and again would go back to one state each time
	for {
		select {
		case <-ctx.Done():
			s.keep(s.edge.Now(), true)
			return
		case t := <-tick.C:
			s.keep(s.edge.clock.At(t), false)
		}
	}
}

// keep writes the state as it is at now, and counts and logs what comes of it.
func (s *State) keep(now window.Instant, stopped bool) {
	switch err := s.save(now, stopped); {
	case err != nil:
		s.failures.Add(1)
		if !s.failing || now.Sub(s.complained) >= complainEvery {
			s.complained = now
			s.log.Error("state not written: a restart now would go back to the last one that was", "error", err)
		}
		s.failing = true
		return
	case s.failing:
		s.log.Info("state written again")
	}
	s.failing = false
	s.at.Store(int64(now))
}

// save writes the state of now, unless the one on disk says the same.
func (s *State) save(now window.Instant, stopped bool) error {
	kept := s.edge.takeState(now, stopped)
	var left int
	s.buf, left = encodeState(s.buf[:0], kept)
	s.left.Add(uint64(left))                        // at most the number of flags and counts
	head := stateHead + 2 + int(s.buf[stateHead+1]) // the record of the time: type, length below 128, fields
	content := crc64.Checksum(s.buf[head:len(s.buf)-stateTail], stateTable)
	if s.written && !stopped && content == s.content && len(kept.counts) == 0 {
		return nil
	}
	if err := replaceFile(filepath.Join(s.dir, stateName), s.buf); err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	s.written, s.content = true, content
	s.writes.Add(1)
	s.bytes.Store(int64(len(s.buf)))
	return nil
}

// replaceFile makes all the content of the file at path in one step: whoever reads it, after whatever has
// happened, finds the old content or the new.
func replaceFile(path string, all []byte) error {
	temp := path + ".new"
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove what an earlier try left: %w", err)
	}
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // likewise
	if err != nil {
		return fmt.Errorf("make a temporary file: %w", err)
	}
	_, err = f.Write(all)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	if dir, err := os.Open(filepath.Dir(path)); err == nil { // so that the name outlives a loss of power, where systems can
		_ = dir.Sync()
		_ = dir.Close()
	}
	return nil
}

// StateStats is how keeping the state stands; totals are since start.
type StateStats struct {
	Writes, Failures uint64
	Ignored          uint64        // states from before that could not be used
	Left             uint64        // flags and counts that did not fit
	Bytes            int64         // of the state on disk
	Age              time.Duration // since the state on disk was true; negative: nothing written yet
}

// Stats reads how s stands at now. It may be called concurrently with Run.
func (s *State) Stats(now window.Instant) StateStats {
	stats := StateStats{
		Writes: s.writes.Load(), Failures: s.failures.Load(), Ignored: s.ignored.Load(), Left: s.left.Load(),
		Bytes: s.bytes.Load(), Age: -1,
	}
	if at := s.at.Load(); at != 0 {
		stats.Age = max(0, now.Sub(window.Instant(at)))
	}
	return stats
}
