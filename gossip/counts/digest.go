package counts

import "crypto/sha256"

// Digest is a key of a rule as other nodes know it: 64 bits nobody can choose, or find again for
// another key, without the cluster's secret. It is never 0.
type Digest uint64

// Digester makes the digests of a secret. It is immutable.
type Digester struct{ secret [sha256.Size]byte }

// NewDigester returns the digester of the cluster's secret.
func NewDigester(secret []byte) Digester {
	return Digester{sha256.Sum256(append([]byte("headgate counts\x00"), secret...))}
}

// most is the longest text that Of hashes: a secret, a rule of 64 bytes and a key of 256.
const most = sha256.Size + 1 + 64 + 256

// Of returns the digest of key, 1..256 bytes, under rule, 1..64 bytes. It does not allocate.
func (d *Digester) Of(rule string, key []byte) Digest {
	var text [most]byte
	n := copy(text[:], d.secret[:])
	text[n] = byte(len(rule)) // so no other rule and key make the same text
	n++
	n += copy(text[n:], rule)
	n += copy(text[n:], key)
	sum := sha256.Sum256(text[:n])
	is := Digest(0)
	for _, b := range sum[:8] {
		is = is<<8 | Digest(b)
	}
	return max(is, 1)
}
