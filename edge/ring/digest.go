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
	keyPrefix   = "hg:"
	digestBytes = (KeyBytes - len(keyPrefix)) / 2 // of an HMAC-SHA-256, written as two hexadecimal digits each

	// digestVersion is the first byte of what is digested. All nodes that share counters must have the same one: to
	// change the format is to raise it, and old and new nodes then count apart.
	digestVersion = 1
)

// Digester names counters so that nobody without the secret can tell or choose which client's counter a name is, nor
// make two clients share one. It keeps one hash and one buffer, so it has one owner: not safe for concurrent use.
type Digester struct {
	mac  hash.Hash
	sum  [sha256.Size]byte
	text []byte // what was digested last
}

// NewDigester returns a Digester under secret, which all nodes that share counters have in common. Names made under an
// empty secret can be computed by anyone.
func NewDigester(secret []byte) *Digester {
	return &Digester{mac: hmac.New(sha256.New, secret)}
}

// Counter is what a name is made from.
type Counter struct {
	Rule    string
	Variant uint32        // apart from other counters of the same key: rules that count differently must not share
	Window  time.Duration // the rule's, whole milliseconds: a rule that is given another one starts other counters
	Client  []byte        // the client's key
	Period  uint64        // number of the counting period
}

// Key writes c's name into dst. Different counters have different names (up to a collision of 128 bits of
// HMAC-SHA-256). It allocates only while longer keys than ever before come by.
func (d *Digester) Key(dst *Key, c Counter) {
	d.text = appendCounter(d.text[:0], c)
	d.text = append(d.text, c.Client...) // the rest of the text, however long
	d.mac.Reset()
	d.mac.Write(d.text) // a hash never fails
	sum := d.mac.Sum(d.sum[:0])
	copy(dst[:], keyPrefix)
	hex.Encode(dst[len(keyPrefix):], sum[:digestBytes])
}

// appendCounter appends all that names a counter but the key, so that no two lists of arguments look alike, whatever key
// follows: the only part of variable length is preceded by its length, and the others have theirs.
func appendCounter(to []byte, c Counter) []byte {
	to = append(to, digestVersion)
	to = binary.AppendUvarint(to, uint64(len(c.Rule)))
	to = append(to, c.Rule...)
	to = binary.BigEndian.AppendUint32(to, c.Variant)
	to = binary.BigEndian.AppendUint64(to, uint64(c.Window.Milliseconds()))
	return binary.BigEndian.AppendUint64(to, c.Period)
}
