package state

import (
	"crypto/sha256"
	"slices"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/snapshot"
	"github.com/headgate-dev/headgate/mitigation/override"
)

// A digest in a key stands for a secret of a visitor, and means nothing under another digest key.
// So a node that keeps a state keeps the key of the digests too, and the state names the key.
// The key is no part of the state, which somebody may mail with a bug report.

// NameOf names a digest key in a state: 8 bytes of its SHA-256.
func NameOf(key [32]byte) [8]byte {
	sum := sha256.Sum256(key[:])
	return [8]byte(sum[:8])
}

// hasDigest reports whether a part of key is a digest: ~ and 32 hexadecimal digits.
func hasDigest(key []byte) bool {
	const digits = 32
	for n, c := range key {
		if c != '~' || len(key)-n-1 < digits {
			continue
		}
		if !slices.ContainsFunc(key[n+1:n+1+digits], func(c byte) bool {
			return (c < '0' || c > '9') && (c < 'a' || c > 'f')
		}) {
			return true
		}
	}
	return false
}

// Digests names the digest key in force.
type Digests struct {
	Name [8]byte // see NameOf
	// Cluster says that the key is derived from the cluster's: so it was for states of earlier
	// versions, which have no name
	Cluster bool
}

// dropOthers drops what s holds under keys with digests, if it was written under another digest
// key, and returns how much: such a block would be listed and would block nobody.
func dropOthers(s *gate.Snapshot, is *Digests) (mitigations, counts int) {
	if s.Digests == is.Name || s.Digests == [8]byte{} && is.Cluster {
		return 0, 0
	}
	had := len(s.Overrides) + len(s.Limits) + len(s.Flags)
	digested := func(o override.Override) bool { return hasDigest(o.Key) }
	s.Overrides = slices.DeleteFunc(s.Overrides, digested)
	s.Limits = slices.DeleteFunc(s.Limits, digested)
	s.Flags = slices.DeleteFunc(s.Flags, func(f snapshot.Flag) bool { return hasDigest(f.Key) })
	mitigations = had - len(s.Overrides) - len(s.Limits) - len(s.Flags)
	s.Strikes = slices.DeleteFunc(s.Strikes, func(k snapshot.Strikes) bool {
		return hasDigest(k.Key)
	})
	had = len(s.Counts)
	s.Counts = slices.DeleteFunc(s.Counts, func(c snapshot.Count) bool { return hasDigest(c.Key) })
	return mitigations, had - len(s.Counts)
}
