package request

import "bytes"

// isPlain reports whether target, which begins with a slash, is a path that is normal, and no more.
// It may say no where it is. It is a loop without branches over what nearly all targets are.
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
	pathEnds uint8 = 1 << iota // ends it, or is an escape
	// of a segment appendNormal may change, where it follows a slash
	afterSlash
	isSlash
)

// pathClass gives the class of each byte of a path.
var pathClass = [256]uint8{
	'?': pathEnds, '#': pathEnds, '%': pathEnds,
	'/': isSlash | afterSlash, '.': afterSlash,
}

// isNormal reports whether appendReading would leave path as it is, but for folds. It may say no
// where it would.
func isNormal(path []byte) bool {
	for i, c := range path {
		switch {
		case c == '%' || c == '#':
			return false
		case c == '/' && i+1 < len(path) && (path[i+1] == '/' || path[i+1] == '.'):
			return false
		}
	}
	return true
}

// appendReading appends a reading of path, which begins with a slash, and reports whether the
// escape of a slash or of a percent sign is in path, or a "#". Every other escape is decoded, once;
// these two are decoded if whole, else written as %2F and %25. A "#" is a byte if whole, else the
// end. Then "//", "." and ".." are resolved: RFC 3986, 6.2.2, and slashes in a row are a single
// slash. folds is applied on the way: parameters of a segment are cut before its dots are resolved.
func appendReading(dst, path []byte, folds Folds, whole bool) (reading []byte, left bool) {
	begin, inParams := len(dst), false
	for i := 0; i < len(path); {
		if n := ordinary(path[i:]); n > 0 {
			if !inParams {
				dst = append(dst, path[i:i+n]...)
			}
			i += n
			continue
		}
		c, size := nextOctet(path[i:])
		if i += size; c == '#' && size == 1 && !whole {
			left = true
			break
		}
		kept := size == 3 && (c == '/' || c == '%')
		left = left || kept
		slash := c == '/' && (whole || !kept)
		inParams = !slash && (inParams || c == ';' && folds&FoldParams != 0)
		switch {
		case inParams:
		case kept && !whole:
			dst = append(dst, escapes[c]...)
		case slash:
			if dst = endSegment(dst, begin); len(dst) == begin || dst[len(dst)-1] != '/' {
				dst = append(dst, c)
			}
		default:
			dst = append(dst, c)
		}
	}
	return folds.end(endSegment(dst, begin), begin), left
}

// escapes are the escapes a path as sent keeps.
var escapes = [256]string{'/': "%2F", '%': "%25"}

// ordinary returns how many bytes of path come before a byte that may be more than itself.
func ordinary(path []byte) int {
	for i, c := range path {
		if c == '/' || c == '%' || c == ';' || c == '#' {
			return i
		}
	}
	return len(path)
}

// endSegment resolves the last segment of dst where it is "." or "..": the slash before it stays.
// ".." at the root stays at the root, as in RFC 3986, 5.2.4.
func endSegment(dst []byte, begin int) []byte {
	if len(dst) == begin || dst[len(dst)-1] != '.' {
		return dst
	}
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

// nextOctet returns the octet that text begins with, decoded where it is an escape, and how many
// bytes it takes: 3 for an escape, else 1.
func nextOctet(text []byte) (c byte, size int) {
	if text[0] != '%' || len(text) < 3 {
		return text[0], 1
	}
	high, low := fromHex(text[1]), fromHex(text[2])
	if high < 0 || low < 0 {
		return '%', 1
	}
	return byte(high<<4 | low), 3
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
