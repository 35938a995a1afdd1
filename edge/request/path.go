package request

import "bytes"

// isPlain reports whether target, which begins with a slash, is a path that is normal, and no more. It may
// say no where it is.
// It is a loop without branches over what nearly all targets are.
func isPlain(target []byte) bool {
	seen, of := uint8(0), pathEnds // what the byte before makes of the next
	for _, c := range target {
		class := pathClass[c]
		seen |= class & of
		of = pathEnds | class>>1&afterSlash
	}
	return seen == 0
}

// The classes of bytes of a path, for isPlain.
const (
	pathEnds   uint8 = 1 << iota // ends it, or is an escape
	afterSlash                   // of a segment that appendNormal may change, where it follows a slash
	isSlash
)

// pathClass gives the class of each byte of a path.
var pathClass = [256]uint8{'?': pathEnds, '#': pathEnds, '%': pathEnds, '/': isSlash | afterSlash, '.': afterSlash}

// isNormal reports whether appendNormal would leave path as it is. It may say no where it would.
func isNormal(path []byte) bool {
	for i, c := range path {
		switch {
		case c == '%':
			return false
		case c == '/' && i+1 < len(path) && (path[i+1] == '/' || path[i+1] == '.'):
			return false
		}
	}
	return true
}

// appendNormal appends the normal form of path, which begins with a slash.
// RFC 3986, 6.2.2: dots are resolved, escapes of unreserved characters decoded and others written in upper case;
// beyond it, slashes in a row are one. /a/./b//%7Ex becomes /a/b/~x: so no spelling of a path gets around a policy
// that names it.
func appendNormal(dst, path []byte) []byte {
	begin := len(dst)
	for i := 0; i < len(path); {
		c, size := nextOctet(path[i:])
		if size == 3 && c == '%' { // an escape that stays
			dst = append(dst, '%', upperHex(path[i+1]), upperHex(path[i+2]))
			i += size
			continue
		}
		i += size
		if c == '/' {
			dst = endSegment(dst, begin)
		}
		if c != '/' || len(dst) == begin || dst[len(dst)-1] != '/' {
			dst = append(dst, c)
		}
	}
	return endSegment(dst, begin)
}

// endSegment resolves the last segment of dst where it is "." or "..": the slash before it stays.
// ".." at the root stays at the root, as in RFC 3986, 5.2.4.
func endSegment(dst []byte, begin int) []byte {
	slash := bytes.LastIndexByte(dst[begin:], '/') + begin
	if slash < begin {
		return dst
	}
	switch string(dst[slash+1:]) {
	case ".":
		return dst[:slash+1]
	case "..":
		parent := bytes.LastIndexByte(dst[begin:slash], '/') + begin
		return dst[:max(parent, begin)+1]
	}
	return dst
}

// nextOctet returns the octet that text begins with, decoded where it is an escape of an unreserved
// one, and how many bytes it takes. '%' with size 3 is an escape that stays.
// %2F stays: an escaped slash is no separator of segments.
func nextOctet(text []byte) (c byte, size int) {
	if text[0] != '%' || len(text) < 3 {
		return text[0], 1
	}
	high, low := fromHex(text[1]), fromHex(text[2])
	if high < 0 || low < 0 {
		return '%', 1
	}
	if c = byte(high<<4 | low); isUnreserved(c) {
		return c, 3
	}
	return '%', 3
}

func isUnreserved(c byte) bool {
	switch {
	case c|0x20 >= 'a' && c|0x20 <= 'z', c >= '0' && c <= '9':
		return true
	}
	return c == '-' || c == '.' || c == '_' || c == '~'
}

// fromHex returns the value of a hexadecimal digit, or -1.
func fromHex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

func upperHex(c byte) byte {
	if c >= 'a' {
		return c - 0x20
	}
	return c
}
