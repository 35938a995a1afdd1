package seam

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Served is a request that the site was asked to serve.
type Served struct {
	Row     string // the value of X-Row: which row it came by; empty: lost on the way
	Method  string
	Target  string
	Headers []Header
	URI     string // the path as the proxy itself reads it, where it says so; else empty
}

// String returns its parts, quoted.
func (s *Served) String() string {
	text := strconv.Quote(s.Method + " " + short(s.Target))
	for _, h := range s.Headers {
		if h.Name != "X-Row" && len(text) < 600 {
			text += " " + strconv.Quote(short(h.Name+": "+h.Value))
		}
	}
	return text
}

// short cuts the middle out of a long text.
func short(text string) string {
	if len(text) <= 120 {
		return text
	}
	return text[:60] + "…" + strconv.Itoa(len(text)-100) + " more…" + text[len(text)-40:]
}

// wrong returns which policy should have denied s, or "" where none should. seen are the headers
// that policies see in this column, limited says whether its visitor is at the limit, and fold
// which spellings of a path are one.
func (s *Served) wrong(seen []string, limited bool, fold []string) string {
	paths := s.paths(fold)
	switch {
	case slices.Contains(paths, "/secret"):
		return "by-path"
	case hostOf(s.host()) == "secret.test":
		return "by-host"
	case s.hasParameter():
		return "by-query"
	case slices.Contains(seen, "Cookie") && s.hasCookie():
		return "by-cookie"
	}
	for _, h := range s.Headers {
		is := func(name string) bool { return strings.EqualFold(name, h.Name) }
		if slices.ContainsFunc(seen, is) && !slices.ContainsFunc(unjudged, is) &&
			strings.Trim(h.Value, " \t") == "secret" {
			return "by-" + strings.ToLower(h.Name)
		}
	}
	free := func(path string) bool { return path == "/free" || strings.HasPrefix(path, "/free/") }
	if limited && (len(paths) == 0 || slices.ContainsFunc(paths, func(path string) bool { return !free(path) })) {
		return "everybody"
	}
	return ""
}

// scheme is how an absolute target begins (RFC 3986, 3.1). No server reads "1http://" or "\xffhttp://" as one.
var scheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)

// split returns the authority of an absolute target, and what follows.
func split(target string) (authority, rest string, absolute bool) {
	begin := scheme.FindString(target)
	if begin == "" {
		return "", target, false
	}
	rest = target[len(begin):]
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		return rest[:end], rest[end:], true
	}
	return rest, "", true
}

// host returns the host that was asked: that of an absolute target, else the header.
func (s *Served) host() string {
	if authority, _, absolute := split(s.Target); absolute {
		return authority
	}
	r := Request{Headers: s.Headers}
	return r.Get("Host")
}

// hostOf returns a host without what may stand around its name.
func hostOf(text string) string {
	text = strings.ToLower(text[strings.LastIndexByte(text, '@')+1:])
	if !strings.HasPrefix(text, "[") {
		text, _, _ = strings.Cut(text, ":")
	}
	return strings.TrimSuffix(text, ".")
}

// hasParameter reports whether the query says secret=1. For some servers a "#" ends it, for others
// it is a byte.
func (s *Served) hasParameter() bool {
	_, query, _ := strings.Cut(s.Target, "?")
	for pair := range strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == '#' }) {
		name, value, _ := strings.Cut(strings.ReplaceAll(pair, "+", " "), "=")
		if unescape(name, "") == "secret" && unescape(value, "") == "1" {
			return true
		}
	}
	return false
}

// hasCookie reports whether a cookie says secret=1.
func (s *Served) hasCookie() bool {
	for _, h := range s.Headers {
		if !strings.EqualFold(h.Name, "Cookie") {
			continue
		}
		for pair := range strings.SplitSeq(h.Value, ";") {
			if name, value, _ := strings.Cut(pair, "="); strings.Trim(name, " \t") == "secret" &&
				strings.Trim(value, " \t") == "1" {
				return true
			}
		}
	}
	return false
}

// paths returns the readings of the path: escaped slashes kept and cut at a "#", everything decoded
// and no "#" known, and the proxy's own.
func (s *Served) paths(fold []string) (all []string) {
	_, rest, _ := split(s.Target)
	rest, _, _ = strings.Cut(rest, "?")
	if rest == "*" {
		return []string{"*"}
	}
	if !strings.HasPrefix(rest, "/") {
		rest = "/" + rest
	}
	if slices.Contains(fold, "params") {
		rest = withoutParams(rest)
	}
	cut, _, _ := strings.Cut(rest, "#")
	all = append(all, folded(unescape(cut, "/%"), fold), folded(unescape(rest, ""), fold))
	if s.URI != "" {
		all = append(all, folded(s.URI, fold))
	}
	return all
}

// folded returns a decoded path resolved, as a server that folds reads it.
func folded(path string, fold []string) string {
	path = resolve(path)
	if slices.Contains(fold, "tail") {
		path = strings.TrimRight(path, ". ")
	}
	if slices.Contains(fold, "case") {
		path = strings.ToLower(path)
	}
	if slices.Contains(fold, "slash") && len(path) > 1 {
		path = strings.TrimSuffix(path, "/")
	}
	return path
}

func withoutParams(path string) string {
	var kept []string
	for segment := range strings.SplitSeq(path, "/") {
		segment, _, _ = strings.Cut(segment, ";")
		kept = append(kept, segment)
	}
	return strings.Join(kept, "/")
}

// unescape decodes every escape once, but those of the bytes in kept.
func unescape(text, kept string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			if v, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil &&
				strings.IndexByte(kept, byte(v)) < 0 {
				b.WriteByte(byte(v))
				i += 2
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// resolve takes out empty segments and dots. What is above the root is the root.
func resolve(path string) string {
	var kept []string
	open := false // the path ends in a slash
	for segment := range strings.SplitSeq(path, "/") {
		open = segment == "" || segment == "." || segment == ".."
		switch {
		case segment == ".." && len(kept) > 0:
			kept = kept[:len(kept)-1]
		case !open:
			kept = append(kept, segment)
		}
	}
	if path = "/" + strings.Join(kept, "/"); open && len(kept) > 0 {
		path += "/"
	}
	return path
}
