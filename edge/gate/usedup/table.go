package usedup

import (
	"crypto/sha256"
	"encoding/binary"
	"sync/atomic"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

const (
	// entries is how many keys a Table holds at most, 32 bytes each, and ways how many of them a
	// key may take.
	entries, ways = 1 << 13, 8
	// mostKey and mostRule are the longest key and the longest name of a rule, in bytes.
	mostKey, mostRule = 256, 64
)

// Name is a key of a rule as the nodes of a PoP know it: 96 bits nobody can choose, or find again
// for another key, without the cluster's secret. Digest is never 0.
type Name struct {
	Digest uint64
	Check  uint32
}

// Table holds which keys are at their limits, and until when. A single goroutine may call Put and
// SetSecret while others call Until and the functions of UsedUp.
type Table struct {
	entries [entries]entry
	secret  atomic.Pointer[[sha256.Size]byte]
	latest  atomic.Int64 // Instant until which some entry holds
}

// entry is a key at its limit. digest is 0 while the others are written.
type entry struct{ digest, check, until, version atomic.Uint64 }

// SetSecret derives names from secret. Keys known under other names are not found any more. It
// precedes the first Put.
func (t *Table) SetSecret(secret []byte) {
	sum := sha256.Sum256(append([]byte("headgate used up\x00"), secret...))
	t.secret.Store(&sum)
}

// Takes reports whether there are notices of r's keys: those of limits over several nodes judged by
// counts alone. Where counts go from PoP to PoP, and to all nodes, at once, notices would only have
// all nodes admit at the same moments.
func Takes(r *mitigation.Rule) bool {
	shared := r.Scope == mitigation.PoP ||
		r.Scope == mitigation.Global && r.Action == mitigation.Shed && !r.ByCounts()
	return shared && r.Kind == mitigation.Window && r.Counts != mitigation.CountOffered &&
		r.Limit <= window.SmallLimit
}

// UsedUp returns a function saying until when other nodes know a key of r to be at its limit, 0 for
// not known; nil if there are no notices of r's keys. It is a window.Limit's UsedUp: it takes no
// lock and does not allocate.
func (t *Table) UsedUp(r *mitigation.Rule) func(now window.Instant, key []byte) window.Instant {
	if !Takes(r) {
		return nil
	}
	rule := *r
	return func(now window.Instant, key []byte) window.Instant {
		if int64(now) >= t.latest.Load() {
			return 0 // nearly always
		}
		return t.Until(now, t.Name(&rule, key))
	}
}

// Name returns the name of key, 1..256 bytes, under r. Nodes whose r has another limit or window
// know the key by another name. It does not allocate.
func (t *Table) Name(r *mitigation.Rule, key []byte) Name {
	var text [sha256.Size + 1 + mostRule + 17 + mostKey]byte
	n := 0
	if secret := t.secret.Load(); secret != nil { // else nothing is put
		n = copy(text[:], secret[:])
	}
	text[n] = byte(len(r.Name)) // so no other rule and key make the same text
	n++
	n += copy(text[n:], r.Name)
	binary.BigEndian.PutUint64(text[n:], uint64(r.Limit))    // above 0
	binary.BigEndian.PutUint64(text[n+8:], uint64(r.Window)) // above 0
	if n += 16; r.Mode == mitigation.Shadow {
		text[n] = 1
	}
	n++
	n += copy(text[n:], key)
	sum := sha256.Sum256(text[:n])
	return Name{
		Digest: max(binary.BigEndian.Uint64(sum[:]), 1),
		Check:  binary.BigEndian.Uint32(sum[8:]),
	}
}

// Until returns until when the key called n is known to be at its limit; 0: not known, or over.
func (t *Table) Until(now window.Instant, n Name) window.Instant {
	set := t.set(n)
	for k := range set {
		if e := &set[k]; e.digest.Load() == n.Digest {
			check, until := e.check.Load(), window.Instant(e.until.Load()) // an Instant before
			if check == uint64(n.Check) && until > now && e.digest.Load() == n.Digest {
				return until
			}
		}
	}
	return 0
}

// Version returns the version of what is known of the key called n; 0: nothing. A notice put
// meanwhile may be missed.
func (t *Table) Version(n Name) uint64 {
	if e := t.entry(n); e.holds(n) {
		return e.version.Load()
	}
	return 0
}

// Put remembers that the key called n is at the limit until then; not after now: the key has room
// again. Of two notices the newer version stands, of equal versions the longer. In a full set n
// displaces the key that is at its limit for the shortest time.
func (t *Table) Put(n Name, until window.Instant, version uint64) {
	e := t.entry(n)
	if e.holds(n) {
		switch was := e.version.Load(); {
		case version < was:
			return
		case version == was:
			until = max(until, window.Instant(e.until.Load())) // an Instant before
		}
	}
	e.digest.Store(0)
	e.check.Store(uint64(n.Check))
	e.until.Store(uint64(until)) // not negative
	e.version.Store(version)
	e.digest.Store(n.Digest)
	t.latest.Store(max(t.latest.Load(), int64(until)))
}

// entry returns the entry of n, or the entry that n may displace.
func (t *Table) entry(n Name) *entry {
	set := t.set(n)
	e := &set[0]
	for k := range set {
		is := &set[k]
		if is.digest.Load() == n.Digest {
			return is
		}
		if is.until.Load() < e.until.Load() {
			e = is
		}
	}
	return e
}

// holds reports whether e is of n.
func (e *entry) holds(n Name) bool {
	return e.digest.Load() == n.Digest && e.check.Load() == uint64(n.Check)
}

// Forget forgets the key called n. It may be called concurrently with everything else; a notice
// that is put meanwhile may stay.
func (t *Table) Forget(n Name) {
	set := t.set(n)
	for k := range set {
		set[k].digest.CompareAndSwap(n.Digest, 0)
	}
}

// set returns the entries that n may take.
func (t *Table) set(n Name) []entry {
	at := n.Digest % (entries / ways) * ways
	return t.entries[at : at+ways]
}
