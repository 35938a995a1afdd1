package request

import "bytes"

// SetTarget sets Path, Decoded and Query from a request target of any bytes, and Host from an
// absolute target. A target above MaxTarget makes the request unfit.
//
// scheme://authority is cut, and the authority is the host, whatever SetHost says. "*" is "*". A
// rest that does not begin with "/" gets a slash. The path is taken up to "?". For some servers a
// "#" ends it, for others it is a byte: Path ends there, and Decoded and Query go on. Unless c says
// raw, escapes are decoded, once; "//" becomes "/"; "." and ".." are resolved, and ".." at the root
// stays there. Path keeps "%2F" and "%25"; Decoded is the path in which these are decoded before it
// is resolved.
//
// A target no server takes has a reading too. A fault would be an answer without a count, and the
// visitor chooses the target.
func (r *Request) SetTarget(target []byte, c *Clients) {
	if len(target) > MaxTarget {
		r.unfit(UnfitTarget)
	}
	if len(target) > 0 && target[0] == '/' && isPlain(target) && c.Folds&^FoldSlash == 0 {
		r.Path, r.Decoded, r.Query = target, nil, nil
		return
	}
	authority, rest := cutAuthority(target)
	if len(authority) > 0 {
		before := r.Host
		if r.setHost(authority); len(r.Host) > 0 {
			r.absolute = true
		} else {
			r.Host = before
		}
	}
	path, query, _ := bytes.Cut(rest, []byte{'?'})
	r.path = r.path[:0]
	if len(path) == 0 || path[0] != '/' && string(rest) != "*" {
		r.path = append(append(r.path, '/'), path...)
		path = r.path
	}
	r.Query = query
	r.setPath(path, c)
}

var schemeEnd = []byte("://")

// cutAuthority returns the authority of an absolute URI and the rest of target behind it. Of any
// other target the rest is the whole.
// GET http://example.com/a HTTP/1.1 is as good a request as GET /a with its Host (RFC 9112, 3.2.2).
func cutAuthority(target []byte) (authority, rest []byte) {
	if len(target) == 0 || target[0] == '/' {
		return nil, target
	}
	scheme, rest, found := bytes.Cut(target, schemeEnd)
	if !found || !isScheme(scheme) {
		return nil, target
	}
	if end := bytes.IndexAny(rest, "/?#"); end >= 0 {
		return rest[:end], rest[end:]
	}
	return rest, nil
}

func isScheme(text []byte) bool {
	for i, c := range text {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		other := c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.'
		if !letter && (i == 0 || !other) {
			return false
		}
	}
	return len(text) > 0
}
