package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/headgate-dev/headgate/edge/policy/condition"
	"github.com/headgate-dev/headgate/mitigation"
)

const (
	maxPart = 96 // bytes of a part shown as it is
	// "Unit separator": escaped inside a value
	separator  = 0x1f
	absentPart = 0x00 // stands for a part that is absent: no value can spell it
)

// digester makes keyed digests. Never changes. HMAC's two pads, worked out once: the library's HMAC
// allocates for each text.
type digester struct {
	inner, outer [sha256.BlockSize]byte
}

// 0x36 and 0x5c are those of RFC 2104.
func newDigester(key [32]byte) *digester {
	d := new(digester)
	copy(d.inner[:], key[:])
	copy(d.outer[:], key[:])
	for i := range d.inner {
		d.inner[i] ^= 0x36
		d.outer[i] ^= 0x5c
	}
	return d
}

// appendDigest appends "~" and 32 hexadecimal digits: HMAC-SHA-256 of the SHA-256 of text, cut to
// 16 bytes. Hashing the text first keeps the buffers of a fixed size, so nothing is allocated. The
// result is the same on all nodes with the same key, as nodes count by the key together; without
// the key nobody can try out values.
func (d *digester) appendDigest(dst, text []byte) []byte {
	var block [2 * sha256.BlockSize]byte
	sum := sha256.Sum256(text)
	n := copy(block[:], d.inner[:])
	n += copy(block[n:], sum[:])
	sum = sha256.Sum256(block[:n])
	n = copy(block[:], d.outer[:])
	n += copy(block[n:], sum[:])
	sum = sha256.Sum256(block[:n])
	return hex.AppendEncode(append(dst, '~'), sum[:16])
}

// builtKey is a key policies count by, made ready. Policies with equal keys share a number, so the
// key is built once a request.
type builtKey struct {
	Key
	skips  bool   // without a part there is no question
	policy string // the name for partPolicy; such a key is not shared
}

// buildKey returns key number of the request, nothing where a part is absent and nothing is asked
// then. The key lies in the free bytes of out.keys: see Result.keep.
func (w *walk) buildKey(number int32) []byte {
	out := w.out
	key := w.appendKey(out.keys[:out.used], &w.e.keys[number])
	return key[out.used:len(key):len(key)]
}

// appendKey appends a key of the request to dst, nothing where there is none. A list of parts is
// written with separators, a key of a single part without: People type 203.0.113.7 to look a client
// up.
func (w *walk) appendKey(dst []byte, k *builtKey) []byte {
	begin := len(dst)
	list := len(k.Parts) > 1
	for i, alternatives := range k.Parts {
		if i > 0 {
			dst = append(dst, separator)
		}
		at := len(dst)
		for j := range alternatives {
			dst = w.appendPart(dst, &alternatives[j], k.policy, list)
			if len(dst) > at {
				break
			}
		}
		if len(dst) == at {
			if k.skips {
				return dst[:begin]
			}
			dst = append(dst, absentPart)
		}
	}
	// Cut off instead, two long keys would share a count.
	if len(dst)-begin > mitigation.MaxKey {
		return w.e.digest.appendDigest(dst[:begin], dst[begin:])
	}
	return dst
}

// appendPart appends a part, nothing if absent.
func (w *walk) appendPart(dst []byte, part *Part, name string, list bool) []byte {
	e, r := w.e, w.r
	switch part.kind {
	case partAll:
		return append(dst, "all"...)
	case partPolicy:
		return append(dst, name...)
	case partPrefix:
		return w.appendClient(dst, part)
	case partPath:
		return e.appendText(dst, part, firstSegments(r.KeyPath(&e.clients), part.segments), list)
	}
	switch {
	case part.field.IsAddress():
		if r.Peer.IsValid() && (part.loaded == nil || part.loaded.HasAddress(r.Peer)) {
			return r.Peer.AppendTo(dst)
		}
		return dst
	case part.field.IsNumber():
		n, ok := part.field.Number(r)
		if ok && (part.loaded == nil || part.loaded.HasNumber(n)) {
			return strconv.AppendInt(dst, n, 10)
		}
		return dst
	}
	value, next := part.field.Lookup(r, part.number, 0)
	if part.field.Kind == condition.Path {
		value = r.KeyPath(&e.clients)
	}
	if next < 0 || len(value) == 0 || part.loaded != nil && !part.loaded.Has(value) {
		return dst
	}
	return e.appendText(dst, part, value, list)
}

// appendClient appends the client's address, cut to the bits of the part. The text of the
// configured bits is written once a request.
func (w *walk) appendClient(dst []byte, part *Part) []byte {
	a := w.r.Client
	if !a.IsValid() || part.loaded != nil && !part.loaded.HasAddress(a) {
		return dst
	}
	if part.bits4 > 0 {
		return appendPrefix(dst, a, part.bits4, part.bits6)
	}
	out := w.out
	if out.written == 0 {
		out.written = len(appendPrefix(out.client[:0], a, w.e.clients.IPv4, w.e.clients.IPv6))
	}
	return append(dst, out.client[:out.written]...)
}

// appendText appends a text. One that is secret, long, or could be taken for something else becomes
// a digest; in a list, characters with a meaning there are escaped. Two different values must never
// give the same key, for then two clients would share a count: hence the escapes, and a digest
// where they would not do.
func (e *Engine) appendText(dst []byte, part *Part, text []byte, list bool) []byte {
	if len(text) == 0 {
		return dst
	}
	if part.secret() {
		return e.digest.appendDigest(dst, text)
	}
	return e.digest.appendText(dst, text, list)
}

// appendText is Engine.appendText of a text, no secret.
func (d *digester) appendText(dst, text []byte, list bool) []byte {
	// Such as ~0f3a…: a value looking like a digest becomes a digest.
	if len(text) > maxPart || text[0] == '~' {
		return d.appendDigest(dst, text)
	}
	at := len(dst)
	for _, c := range text {
		switch {
		case c != separator && c != absentPart && (c != '%' || !list):
			dst = append(dst, c)
		case !list: // escaped, it could be taken for a text written so
			return d.appendDigest(dst[:at], text)
		default:
			dst = append(dst, '%', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	if len(dst)-at > maxPart {
		return d.appendDigest(dst[:at], text)
	}
	return dst
}

const hexDigits = "0123456789ABCDEF"

// firstSegments returns the first n segments of path. /a/b/c with n = 2 is /a/b. The leading slash
// is counted first, so the slash after segment n is the (n+1)th.
func firstSegments(path []byte, n int) []byte {
	for i, c := range path {
		if c != '/' {
			continue
		}
		if n == 0 {
			return path[:i]
		}
		n--
	}
	return path
}

// Joiner writes keys of values no policy names, as the key of a policy is written. RESP and Envoy's
// descriptors have keys of their own; those are to be written, cut and hidden by the same rules.
type Joiner struct{ digest *digester }

// NewJoiner returns a Joiner whose digests are made with key, as Options.DigestKey is.
func NewJoiner(key [32]byte) *Joiner { return &Joiner{newDigester(key)} }

// Append appends a value to the key beginning at begin of dst. list: the key has other values, too.
// The first value stands alone; the others are behind a separator.
func (j *Joiner) Append(dst []byte, begin int, value []byte, list bool) []byte {
	if len(dst) > begin {
		dst = append(dst, separator)
	}
	if len(value) == 0 {
		return append(dst, absentPart)
	}
	return j.digest.appendText(dst, value, list)
}

// End returns dst with the key beginning at begin, as a digest if too long.
func (j *Joiner) End(dst []byte, begin int) []byte {
	if len(dst)-begin > mitigation.MaxKey {
		return j.digest.appendDigest(dst[:begin], dst[begin:])
	}
	return dst
}
