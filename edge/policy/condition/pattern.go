package condition

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/headgate-dev/headgate/edge/request"
)

// PathPattern is a path with "*" for segments of any text, and perhaps "/**" at the end. Compared
// with slashes of the paths of requests: no empty or dotted segments are left to evade a pattern.
type PathPattern struct {
	segments []string // between slashes; "*" is any one that is not empty
	below    bool     // also whatever lies below
	slash    bool     // a last slash makes no difference; from Resolve
}

// newPath reads a pattern of paths: /login, /v2/*/orders, /v2/**. A pattern without a star is an
// ordinary text. Parts of segments have no star: "/v*" would invite patterns whose cost and meaning
// are those of a regular expression, for which there is ~.
func newPath(text string) (Want, error) {
	if !strings.HasPrefix(text, "/") {
		return Want{}, fmt.Errorf("a path begins with /, not as %q does; a regular expression "+
			"begins with ~", clip(text))
	}
	if strings.ContainsAny(text, "?#") {
		return Want{}, errors.New("a path has neither ? nor #: parameters are matched by " +
			"query.NAME")
	}
	var p PathPattern
	// "/**" is /v2 and all below it, as people expect, and so is the root's.
	rest, below := strings.CutSuffix(text, "/**")
	p.below = below
	if rest != "" {
		p.segments = strings.Split(rest[1:], "/")
	}
	star := below
	for _, s := range p.segments {
		switch {
		case s == "**":
			return Want{}, errors.New("/** stands at the end of a path only")
		case s != "*" && strings.Contains(s, "*"):
			return Want{}, fmt.Errorf("in a path * is one whole segment, not a part of it as in "+
				"%q; for parts write ~ and a regular expression", clip(s))
		}
		star = star || s == "*"
	}
	if !star {
		return Want{Kind: WantText, Text: text, Loose: true}, nil
	}
	return Want{Kind: WantPath, Text: text, Path: p, Loose: true}, nil
}

// asPath brings w, which is compared with paths, to the form that c gives paths. A text of a match
// map goes through the steps of the path of a request. A regular expression and a text of "when"
// are compared with the path as it is; "." is any byte of it, as %0A is a byte of a path.
func (w *Want) asPath(c *request.Clients) {
	switch {
	case c.Raw:
	case w.Kind == WantRegexp:
		flags := "(?s)"
		if c.Folds&request.FoldCase != 0 {
			flags = "(?si)"
		}
		if re, err := regexp.Compile(flags + w.Text); err == nil {
			w.re = re
		}
	case w.Kind == WantPath && len(w.Path.segments) > 0:
		text, slash := pathText(c, "/"+strings.Join(w.Path.segments, "/"))
		w.Path.segments, w.Path.slash = strings.Split(text[1:], "/"), slash
	case w.Kind == WantText && w.Loose:
		w.Text, w.slash = pathText(c, w.Text)
	}
}

// pathText returns the path a request for text has, decoded. slash: without the last slash, which
// makes no difference.
func pathText(c *request.Clients, text string) (path string, slash bool) {
	_, path = c.Readings(text)
	if c.Folds&request.FoldSlash == 0 || path == "/" {
		return path, false
	}
	return strings.TrimSuffix(path, "/"), true
}

// Literal returns the segments before the first "*", as a path, and whether these are all.
// /v2/*/orders has /v2, by which a tree of paths narrows the search.
func (p *PathPattern) Literal() (path string, whole bool) {
	for _, s := range p.segments {
		if s == "*" {
			return path, false
		}
		path += "/" + s
	}
	return path, true
}

// IsPlain reports whether a tree of beginnings says all of the pattern: a path ends with "/**" and
// has no other star.
func (p *PathPattern) IsPlain() bool {
	_, whole := p.Literal()
	return whole && p.below
}

// matches reports whether path fits the pattern. Segment by segment, without splitting: nothing is
// allocated. A star takes exactly a segment, so there is nothing to try twice.
func (p *PathPattern) matches(path []byte) bool {
	rest := path
	for _, s := range p.segments {
		if len(rest) == 0 || rest[0] != '/' {
			return false
		}
		rest = rest[1:]
		end := bytes.IndexByte(rest, '/')
		if end < 0 {
			end = len(rest)
		}
		if s == "*" && end == 0 || s != "*" && string(rest[:end]) != s {
			return false
		}
		rest = rest[end:]
	}
	return len(rest) == 0 || p.below && rest[0] == '/' || p.slash && string(rest) == "/"
}

// newHost reads a host, or *. and a domain: any host below, at any depth, but not itself. Each
// fault names the form of the request's host compared, since the pattern would simply never hold
// otherwise.
func newHost(text string) (Want, error) {
	domain, below := strings.CutPrefix(text, "*.")
	switch {
	case domain == "" || strings.ContainsAny(domain, "*/ ") || strings.HasPrefix(domain, "."):
		return Want{}, fmt.Errorf("must be a host such as api.example.com or *.example.com, not %q",
			clip(text))
	case domain != strings.ToLower(domain):
		return Want{}, fmt.Errorf("hosts are compared in lower case: write %s",
			clip(strings.ToLower(text)))
	case strings.HasSuffix(domain, "."):
		return Want{}, fmt.Errorf("hosts are compared without their final dot: write %s",
			clip(strings.TrimSuffix(text, ".")))
	case strings.Contains(domain, ":") && !strings.HasPrefix(domain, "["):
		return Want{}, fmt.Errorf("hosts are compared without their port: write %s",
			clip(text[:strings.Index(text, ":")]))
	}
	if below {
		return Want{Kind: WantHost, Text: "." + domain}, nil
	}
	return Want{Kind: WantText, Text: text}, nil
}
