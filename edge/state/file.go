package state

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/private"
	"github.com/headgate-dev/headgate/edge/state/codec"
	"github.com/headgate-dev/headgate/window"
)

const (
	// stateName is the file in the state directory.
	stateName = "headgate.state"

	// stateEvery is the interval of writes while anything in the state changes.
	stateEvery = time.Second
	// maxUnseen is the longest time after a write in which the node may have admitted cost no file
	// knows: the interval, and the duration of a write.
	maxUnseen = stateEvery + stateEvery/4
)

// File writes the state of a gate to a directory. Run belongs to a single goroutine; Stats is safe
// for concurrent use. A file and not a log: it is small, and its whole content is of a moment.
type File struct {
	gate    *gate.Gate
	dir     string
	log     *slog.Logger
	digests atomic.Pointer[Digests]

	buf        []byte         // memory of the encoded state, reused
	content    uint64         // checksum of the last written body without its time
	written    bool           // this process has written the file
	failing    bool           // the last write failed
	complained window.Instant // of the last log line about it

	writes, failures, ignored, left atomic.Uint64
	// of the file on disk: its size, and the Instant it describes, 0: none written
	bytes, at atomic.Int64
}

// Open restores the state in dir into g, and returns the File writing it once Run is called. It
// creates dir with mode 0700. A missing file is a first start. A file that cannot be used is
// logged, counted in Stats.Ignored and otherwise treated as missing. digests is the digest
// key in force. g must not decide yet.
func Open(g *gate.Gate, dir string, digests Digests, log *slog.Logger) *File {
	s := &File{gate: g, dir: dir, log: log}
	s.digests.Store(&digests)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		log.Warn("state_dir cannot be created", "error", err)
	}
	now := g.Now()
	is, err := s.restore(now)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		log.Info("no state file: starting without mitigations and counts", "state_dir", dir)
	case err != nil:
		s.ignored.Add(1)
		log.Warn("state file ignored: starting without mitigations and counts",
			"state_dir", dir, "error", err)
	default:
		log.Info("state restored", "state_dir", dir, "words", is.Overrides, "flags", is.Flags,
			"counts", is.Counts)
	}
	return s
}

// restore reads the file and puts its content in force at now. The error wraps fs.ErrNotExist when
// there is no file.
func (s *File) restore(now window.Instant) (gate.Restored, error) {
	all, warnings, err := readState(filepath.Join(s.dir, stateName))
	if err != nil {
		return gate.Restored{}, err
	}
	for _, w := range warnings {
		s.log.Warn("state file: " + w)
	}
	snapshot, err := codec.Decode(all)
	if err != nil {
		return gate.Restored{}, err
	}
	if mitigations, counts := dropOthers(snapshot, s.digests.Load()); mitigations+counts > 0 {
		s.log.Warn("state of other digests dropped", "mitigations", mitigations, "counts", counts)
	}
	return s.gate.Restore(now, snapshot, maxUnseen)
}

// readState reads at most codec.MaxBytes bytes of a regular file belonging to root or the user of
// this process. warnings name others who can read it. A file others can write is an error: it could
// allow or block anybody.
func readState(path string) (all []byte, warnings []string, err error) {
	// Not Stat: a link could lead to a file of somebody else's.
	is, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("read state: %w", err)
	case !is.Mode().IsRegular():
		return nil, nil, fmt.Errorf("%s: %w", path, codec.ErrForeign)
	}
	if uid, foreign := private.Foreign(is); foreign {
		return nil, nil, fmt.Errorf("%s: %w: it belongs to user %d", path, codec.ErrForeign, uid)
	}
	all, warnings, err = private.Read(path, codec.MaxBytes)
	switch {
	case errors.Is(err, private.ErrSize):
		return nil, nil, fmt.Errorf("%s: %w", path, codec.ErrSize)
	case err != nil:
		return nil, nil, fmt.Errorf("read state: %w", err)
	}
	return all, warnings, nil
}

// Run writes the state at once, every stateEvery while it changes, and once more when ctx ends. It
// returns after the last write. A failed write is logged, counted and tried again a second later.
func (s *File) Run(ctx context.Context) {
	tick := time.NewTicker(stateEvery)
	defer tick.Stop()
	// else a node keeping dying young would restore the same old file each time
	s.writeAt(s.gate.Now(), false)
	for {
		select {
		case <-ctx.Done():
			s.writeAt(s.gate.Now(), true)
			return
		case t := <-tick.C:
			s.writeAt(s.gate.At(t), false)
		}
	}
}

// writeAt writes the state as of now, and counts and logs the result. stopped says that the gate
// admits nothing any more.
func (s *File) writeAt(now window.Instant, stopped bool) {
	switch err := s.save(now, stopped); {
	case err != nil:
		s.failures.Add(1)
		// the least interval of log lines about a state that cannot be written.
		if !s.failing || now.Sub(s.complained) >= (30*time.Second) {
			s.complained = now
			s.log.Error("state not written: a restart now would restore an older state", "error",
				err)
		}
		s.failing = true
		return
	case s.failing:
		s.log.Info("state written again")
	}
	s.failing = false
	s.at.Store(int64(now))
}

// save writes the state as of now, unless the file has the same content. A state with counts is
// always written: its counts age even if nothing is asked.
// The time of writing is left out of the comparison, or no two states would be the same.
func (s *File) save(now window.Instant, stopped bool) error {
	snapshot := s.gate.Snapshot(now, stopped)
	snapshot.Digests = s.digests.Load().Name
	var left int
	s.buf, left = codec.Encode(s.buf[:0], snapshot)
	s.left.Add(uint64(left)) // 0 or more
	content := codec.Content(s.buf)
	if s.written && !stopped && content == s.content && len(snapshot.Counts) == 0 {
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

// SetDigests has the state name another digest key. Safe for concurrent use.
func (s *File) SetDigests(is Digests) { s.digests.Store(&is) }

// replaceFile replaces the content of the file at path in a single step. A reader, at any moment
// and after a crash, finds the old content or the new.
func replaceFile(path string, all []byte) error {
	// Beside it, as a rename is a step only within a file system.
	temp := path + ".new"
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove what an earlier try left: %w", err)
	}
	// O_EXCL follows no link somebody else put there.
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // likewise
	if err != nil {
		return fmt.Errorf("make a temporary file: %w", err)
	}
	_, err = f.Write(all)
	if err == nil {
		// Before the rename: else a crash could leave the new name with old bytes, or none.
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	// makes the rename survive a power loss, where the system supports it
	if dir, err := os.Open(filepath.Dir(path)); err == nil {
		_ = dir.Sync()
		_ = dir.Close()
	}
	return nil
}

// Stats are totals since the start, unless they are of the file on disk.
type Stats struct {
	Writes, Failures uint64
	Ignored          uint64 // files at the start that could not be used
	Left             uint64 // flags and counts that did not fit into codec.MaxBytes
	Bytes            int64  // size of the file on disk
	// since the moment that the file describes; negative: none written yet
	Age time.Duration
}

// Stats returns the figures as of now. It is safe for concurrent use.
func (s *File) Stats(now window.Instant) Stats {
	stats := Stats{
		Writes: s.writes.Load(), Failures: s.failures.Load(), Ignored: s.ignored.Load(),
		Left:  s.left.Load(),
		Bytes: s.bytes.Load(), Age: -1,
	}
	// Never below 0: a write may have finished after now was read.
	if at := s.at.Load(); at != 0 {
		stats.Age = max(0, now.Sub(window.Instant(at)))
	}
	return stats
}

// DigestKey returns the digest key kept in dir, which is made where none is. A file that cannot be
// used is logged. A key that is new, or of this process alone, is fresh, 32 random bytes.
func DigestKey(dir string, fresh [32]byte, log *slog.Logger) (key [32]byte) {
	path := filepath.Join(dir, "digest.key")
	kept, err := readDigestKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(dir, 0o700); err == nil {
			err = replaceFile(path, fresh[:])
		}
	} else if err == nil {
		return kept
	}
	if err != nil {
		log.Warn("digest key not kept: keys that are digests do not outlive this process",
			"path", path, "error", err)
	}
	return fresh
}

// readDigestKey reads the file at path, which nobody else may read.
func readDigestKey(path string) (key [32]byte, err error) {
	all, warnings, err := readState(path)
	switch {
	case err != nil:
		return key, err
	case len(warnings) > 0:
		return key, errors.New(warnings[0])
	case len(all) != len(key):
		return key, fmt.Errorf("%d bytes, want %d: %w", len(all), len(key), private.ErrSize)
	}
	return [32]byte(all), nil
}

// WriteKept replaces the file called name in dir, which is made if need be, by data behind its
// SHA-256.
func WriteKept(dir, name string, data []byte) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	return replaceFile(filepath.Join(dir, name), append(sum[:], data...))
}

// ReadKept returns the data of WriteKept, at most limit bytes; fs.ErrNotExist: there is none.
// warnings name others who can read the file.
func ReadKept(dir, name string, limit int64) (data []byte, warnings []string, err error) {
	path := filepath.Join(dir, name)
	all, warnings, err := private.Read(path, limit+sha256.Size)
	if err != nil {
		return nil, nil, err
	}
	if len(all) < sha256.Size || sha256.Sum256(all[sha256.Size:]) != [sha256.Size]byte(all) {
		return nil, nil, fmt.Errorf("%s: the checksum is another", path)
	}
	return all[sha256.Size:], warnings, nil
}
