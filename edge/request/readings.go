package request

import (
	"bytes"
	"slices"
)

// Folds are the spellings a site takes for a path, a bit each. No fold holds for a raw path. A
// server, and not a policy, says which spellings it serves alike: so they are a property of
// Clients.
type Folds uint8

// The folds. All but FoldSlash change the path itself.
const (
	FoldSlash  Folds = 1 << iota // a last slash; Path keeps it, policies look at both forms
	FoldCase                     // ASCII letters
	FoldParams                   // ";" and what follows up to the end of a segment
	FoldTail                     // dots and blanks at the end
)

// FoldNames are the names of the folds in a configuration, in the order of their bits.
var FoldNames = []string{"slash", "case", "params", "tail"}

// ParseFold returns the fold called name.
func ParseFold(name string) (Folds, bool) {
	at := slices.Index(FoldNames, name)
	return 1 << max(at, 0), at >= 0
}

// end folds the path beginning at begin of dst, resolved: its letters and its end.
func (f Folds) end(dst []byte, begin int) []byte {
	for i := begin; f&FoldCase != 0 && i < len(dst); i++ {
		if c := dst[i]; 'A' <= c && c <= 'Z' {
			dst[i] = c | 0x20
		}
	}
	for f&FoldTail != 0 && len(dst) > begin+1 && (dst[len(dst)-1] == '.' ||
		dst[len(dst)-1] == ' ') {
		dst = dst[:len(dst)-1]
	}
	return dst
}

// setPath sets Path and Decoded from path, which begins with a slash, is "*", or lies in r.path.
// Nobody can know which of the two readings the server behind the proxy takes, so policies hold for
// both. nginx decodes each escape before it looks for segments; Go, Rails and Java keep an escaped
// slash.
func (r *Request) setPath(path []byte, c *Clients) {
	r.Path, r.Decoded = path, nil
	if c.Raw {
		r.Path, _, _ = bytes.Cut(path, []byte{'#'})
		return
	}
	if c.Folds&^FoldSlash == 0 && isNormal(path) {
		return
	}
	begin := len(r.path)
	sent, left := appendReading(r.path, path, c.Folds, false)
	r.path = sent
	if left {
		r.path, _ = appendReading(sent, path, c.Folds, true)
	}
	r.Path = r.path[begin:len(sent):len(sent)]
	if decoded := r.path[len(sent):]; left && !bytes.Equal(decoded, r.Path) {
		r.Decoded = decoded
	}
}

// Readings returns both readings of the path that text is, as a request for text has them: as sent,
// and decoded.
func (c *Clients) Readings(text string) (sent, decoded string) {
	var r Request
	if r.setPath([]byte(text), c); r.Decoded == nil {
		return string(r.Path), string(r.Path)
	}
	return string(r.Path), string(r.Decoded)
}

// KeyPath returns the path by which requests are counted: decoded, and where a last slash is folded
// without that. A spelling opens no counter of its own.
func (r *Request) KeyPath(c *Clients) []byte {
	path := r.Path
	if r.Decoded != nil {
		path = r.Decoded
	}
	if n := len(path); c.Folds&FoldSlash != 0 && !c.Raw && n > 1 && path[n-1] == '/' {
		return path[:n-1]
	}
	return path
}
