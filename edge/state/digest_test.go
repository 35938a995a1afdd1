package state

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/snapshot"
	"github.com/headgate-dev/headgate/mitigation/override"
)

// TestDigestKeyIsKept: made once, with a mode that nobody else can read; what cannot be used is
// left as it is, logged, and replaced in memory alone.
func TestDigestKeyIsKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	path := filepath.Join(dir, "digest.key")
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	first := DigestKey(dir, [32]byte{1}, logger)
	is, err := os.Stat(path)
	if err != nil || is.Mode() != 0o600 || is.Size() != 32 || log.Len() > 0 ||
		DigestKey(dir, [32]byte{2}, logger) != first {
		t.Fatal(is, err, &log)
	}
	for text, mode := range map[string]os.FileMode{
		"short": 0o600, strings.Repeat("x", 33): 0o600, strings.Repeat("y", 32): 0o644,
	} {
		if errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, mode)) != nil {
			t.Fatal("not written")
		}
		log.Reset()
		key := DigestKey(dir, [32]byte{3}, logger)
		kept, _ := os.ReadFile(path)
		if key != [32]byte{3} || string(kept) != text || !strings.Contains(log.String(), path) {
			t.Errorf("%q, %v: key %q, kept %q, log %s", text, mode, key, kept, &log)
		}
	}
}

// TestOtherDigestsAreDropped, with all that is under them, and nothing else.
func TestOtherDigestsAreDropped(t *testing.T) {
	digest := "~0123456789abcdef0123456789abcdef"
	made := func() *gate.Snapshot {
		s := &gate.Snapshot{Digests: [8]byte{1}}
		keys := []string{digest, "a|" + digest + "|b", "192.0.2.1", "~0123", digest[1:]}
		for _, key := range keys {
			k := []byte(key)
			s.Overrides = append(s.Overrides, override.Override{Key: k})
			s.Flags = append(s.Flags, snapshot.Flag{Key: k})
			s.Strikes = append(s.Strikes, snapshot.Strikes{Key: k})
			s.Counts = append(s.Counts, snapshot.Count{Key: k})
		}
		return s
	}
	unnamed := made()
	unnamed.Digests = [8]byte{}
	for _, c := range []struct {
		s      *gate.Snapshot
		is     Digests
		m, cts int
	}{
		{made(), Digests{Name: [8]byte{1}}, 0, 0},
		{made(), Digests{Name: [8]byte{2}, Cluster: true}, 4, 2},
		{unnamed, Digests{Name: [8]byte{2}, Cluster: true}, 0, 0},
		{unnamed, Digests{Name: [8]byte{2}}, 4, 2},
	} {
		m, cts := dropOthers(c.s, &c.is)
		if m != c.m || cts != c.cts || len(c.s.Counts) != 5-cts || len(c.s.Flags) != 5-m/2 ||
			len(c.s.Strikes) != 5-cts || len(c.s.Overrides) != 5-m/2 {
			t.Errorf("%v under %+v: %d and %d dropped, want %d and %d", c.s.Digests, c.is, m, cts,
				c.m, c.cts)
		}
	}
}
