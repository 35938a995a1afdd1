package http

import (
	"bytes"
	"net/url"
	"path"
	"strings"

	"github.com/headgate-dev/headgate/edge/door/http/head"
)

// line is the parsed request line. The bytes are the head's, but for a path spelled in another way.
type line struct {
	method, target, version []byte
	path                    []byte // decoded; empty where no path of the door can be meant
	query                   []byte
}

// read reads a request line. False: the line, or the Host of the head, is not HTTP/1.x for every
// reader.
func (l *line) read(b, host []byte, http11 bool) bool {
	method, rest := cut(b, ' ')
	target, version := cut(rest, ' ')
	if !isVersion(version) || !head.IsToken(method) || !isTarget(target) ||
		http11 && len(host) == 0 {
		return false
	}
	uri := target
	if !isOrigin(target) && string(method) != "CONNECT" {
		scheme, after, absolute := bytes.Cut(target, []byte("://"))
		if !absolute || !isScheme(scheme) {
			return false
		}
		end := len(after)
		if i := bytes.IndexAny(after, "/?#"); i >= 0 {
			end = i
		}
		host, uri = after[:end], after[end:]
	}
	l.method, l.target, l.version = method, target, version
	// A fragment is never sent: see answerCheck.
	uri, _ = cut(uri, '#')
	raw, query := cut(uri, '?')
	l.path, l.query = decodePath(raw), query
	return head.IsPlainHost(host) || isHost(host)
}

// cut returns the bytes before the first c and the bytes after. bytes.Cut takes twice as long.
func cut(b []byte, c byte) (before, after []byte) {
	if i := bytes.IndexByte(b, c); i >= 0 {
		return b[:i], b[i+1:]
	}
	return b, nil
}

// hasFragment reports whether the target has a fragment.
func (l *line) hasFragment() bool { return bytes.IndexByte(l.target, '#') >= 0 }

// isVersion reports whether b names a version of HTTP.
func isVersion(b []byte) bool {
	isDigit := func(c byte) bool { return '0' <= c && c <= '9' }
	return len(b) == len("HTTP/1.1") && string(b[:5]) == "HTTP/" && isDigit(b[5]) && b[6] == '.' &&
		isDigit(b[7])
}

// isTarget reports whether b, which has no space, may be a request target.
func isTarget(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c == 0x7f {
			return false
		}
	}
	return len(b) > 0
}

// isOrigin reports whether target is without a scheme and a host.
func isOrigin(target []byte) bool { return target[0] == '/' || string(target) == "*" }

// isScheme reports whether b may be the scheme of a URI: RFC 3986, 3.1.
func isScheme(b []byte) bool {
	for i, c := range b {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || (c < '0' || c > '9') && c != '+' && c != '-' && c != '.') {
			return false
		}
	}
	return len(b) > 0
}

// isHost reports whether a reader of URIs takes b for a host, with a port or without. None at all
// is a version.
func isHost(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	if bytes.ContainsAny(b, "/?#") {
		return false
	}
	_, err := url.Parse("http://" + string(b))
	return err == nil
}

// decodePath returns raw's path.
func decodePath(raw []byte) []byte {
	if isKnown(raw) {
		return raw
	}
	text, err := url.PathUnescape(string(raw))
	switch name := text[strings.LastIndexByte(text, '/')+1:]; {
	case err != nil, name == "", name == ".", name == "..": // the name of a directory, or no path
		return nil
	}
	return []byte(path.Clean("/" + text))
}

// isKnown reports whether path is the door's in the common spelling.
func isKnown(path []byte) bool {
	switch string(path) {
	case "/v1/check", "/v1/peek", "/v1/count":
		return true
	}
	return isWholePath(path) || isActPath(path)
}

// changes reports whether a question at path counts, takes or frees something for the sender. At
// the others a proxy may hand on the headers of a visitor.
func changes(path []byte) bool {
	switch string(path) {
	case "/v1/check", "/v1/peek":
		return false
	}
	return true
}
