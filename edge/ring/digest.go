package ring

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"time"
)

const (
	keyPrefix = "hg:"
	// of an HMAC-SHA-256, written as two hexadecimal digits each
	digestBytes = (KeyBytes - len(keyPrefix)) / 2

	// digestVersion is the first byte of the digested text. All nodes sharing counters must have
	// the same version. A change of the format raises the version, and old and new nodes then count
	// apart.
	digestVersion = 1
)

// Digester names counters. Without the secret nobody can tell or choose which client's counter a
// name is, nor make two clients share a name. A Digester keeps a hash and a buffer: not safe for
// concurrent use.
type Digester struct {
	mac  hash.Hash
	sum  [sha256.Size]byte
	text []byte // digested last
}

// NewDigester returns a Digester under secret, which all nodes sharing counters have in common.
// Under an empty secret anyone can compute the names.
func NewDigester(secret []byte) *Digester {
	return &Digester{mac: hmac.New(sha256.New, secret)}
}

// Counter is the identity of a counter.
type Counter struct {
	Rule    string
	Variant uint32        // tells apart counters of a key whose values are packed differently
	Window  time.Duration // the rule's, whole milliseconds: a new window starts new counters
	Client  []byte        // the client's key
	Period  uint64        // number of the counting period
}

// Key writes c's name into dst. Different counters have different names (up to a collision of 128
// bits of HMAC-SHA-256). Allocates only for a client key longer than all before.
func (d *Digester) Key(dst *Key, c Counter) {
	d.text = appendCounter(d.text[:0], c)
	d.text = append(d.text, c.Client...) // the rest of the text, however long
	d.mac.Reset()
	d.mac.Write(d.text) // a hash never fails
	sum := d.mac.Sum(d.sum[:0])
	copy(dst[:], keyPrefix)
	hex.Encode(dst[len(keyPrefix):], sum[:digestBytes])
}

// appendCounter appends all of c but the key, in a form unique before any key: the only part of
// variable length has the length in front, the others have a fixed length.
func appendCounter(to []byte, c Counter) []byte {
	to = append(to, digestVersion)
	to = binary.AppendUvarint(to, uint64(len(c.Rule)))
	to = append(to, c.Rule...)
	to = binary.BigEndian.AppendUint32(to, c.Variant)
	to = binary.BigEndian.AppendUint64(to, uint64(c.Window.Milliseconds()))
	return binary.BigEndian.AppendUint64(to, c.Period)
}
