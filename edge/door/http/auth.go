package http

import (
	"bytes"
	"math/rand/v2"
	"net/http"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/door/http/head"
	"github.com/headgate-dev/headgate/edge/request"
)

// A proxy asks about a client's request by sending the request's headers to any of these paths. Of
// these the head keeps the headers policies look at:
//
//	nginx    X-Original-Method, X-Original-URI or X-Original-URL, Host; denied with 403
//	forward  X-Forwarded-Method, X-Forwarded-Uri, X-Forwarded-Host
//	envoy/…  the request itself, its path behind the prefix
const (
	authNginx   = head.AuthPath + "nginx"
	authForward = head.AuthPath + "forward"
	authEnvoy   = head.AuthPath + "envoy"
)

// answerAuth answers a request whose path begins with head.AuthPath.
func (x *exchange) answerAuth() *api.Problem {
	// From a pool and not a connection's own: most connections are idle.
	s := x.sessions.Get().(*ask.Session) //nolint:forcetypeassert // see newDoor
	defer x.sessions.Put(s)
	began := x.decider.Now()
	c := x.c
	// A body is not read here, so a request with a body ends the connection.
	x.whole = true
	x.last = x.last || c.head.Is(head.Expect|head.Odd|head.Broken)
	c.long = c.head.Is(head.Broken)
	nginx, p := x.fillAuth(s)
	if p != nil {
		return p
	}
	b := x.lane().Batch(began, rand.Uint64)
	a := s.Decide(&b, began, rand.Uint64()) //nolint:gosec // ChaCha8, seeded by the system
	b.End()
	c.Owe(a.Ticket)
	x.answerWholeBy(s, a, nginx)
	x.clock(began)
	return nil
}

// fillAuth fills the session's request from the head, and reports whether nginx asks. The problem
// is a fault of the operator: an unknown path, a profile without the header, another protocol.
func (x *exchange) fillAuth(s *ask.Session) (nginx bool, p *api.Problem) {
	c := x.c
	r := s.Read(c.peer)
	s.Request.Sample = c.head.All // drawn before the headers came
	if c.head.Unfit != 0 {
		s.Request.Unfit = c.head.Unfit
	}
	method, rest, _ := bytes.Cut(c.head.RequestLine(), []byte{' '})
	x.bodiless = string(method) == http.MethodHead
	end := max(bytes.LastIndexByte(rest, ' '), 0)
	target, version := rest[:end], rest[end:]
	// Where the next request would begin is not known after a line like this.
	if !c.head.Is(head.Broken) && (len(version) != len(" HTTP/1.1") ||
		!bytes.HasPrefix(version, []byte(" HTTP/1."))) {
		x.last = true
		return false, notHTTP1()
	}
	path, _, _ := bytes.Cut(target, []byte{'?'})
	host := c.head.Host()
	switch {
	case c.head.Is(head.Broken): // its request line may be cut
	case string(path) == authNginx:
		nginx = true
		host, p = c.fillBy(r, head.OriginalMethod, head.OriginalURI, host)
	case string(path) == authForward:
		if forwarded, _ := c.head.Profile(head.ForwardedHost); len(forwarded) > 0 {
			host = forwarded
		}
		host, p = c.fillBy(r, head.ForwardedMethod, head.ForwardedURI, host)
	case string(path) == authEnvoy || bytes.HasPrefix(path, []byte(authEnvoy+"/")):
		// Envoy's path_prefix is put before the path, perhaps with no slash between:
		// "/v1/auth/envoy" and "?x".
		r.Target(target[len(authEnvoy):])
		r.Method(method)
	default:
		p = api.NewProblem(http.StatusNotFound, "path",
			"is none of /v1/auth/nginx, /v1/auth/forward and /v1/auth/envoy/…")
	}
	r.Host(host)
	c.fillRest(s, r)
	return nginx, p
}

// fillBy fills in the method and the target named by two headers, and returns the host: host, or in
// ingress-nginx's URL, scheme://Host before the target, all up to the target's slash. A visitor's
// Host may hold "?" and "#".
func (c *conn) fillBy(
	r *request.Reader, method, uri head.Profile, host []byte,
) ([]byte, *api.Problem) {
	target, given := c.head.Profile(uri)
	if !given && c.head.Unfit == 0 {
		return host, api.BadParameter(neededBy[uri], "is missing")
	}
	is, _ := c.head.Profile(method)
	r.Method(is)
	if uri == head.OriginalURI {
		scheme, rest, _ := bytes.Cut(target, []byte("://"))
		if at := bytes.IndexByte(rest, '/'); at >= 0 && bytes.IndexByte(scheme, '/') < 0 {
			host, target = rest[:at], rest[at:]
		}
	}
	r.Target(target)
	return host, nil
}

// neededBy are the headers without which nothing is known of a request.
var neededBy = map[head.Profile]string{
	head.OriginalURI:  "X-Original-URI",
	head.ForwardedURI: "X-Forwarded-Uri",
}

// fillRest fills in the fields all profiles take from the same headers. All headers of the visitor
// come along; fields known to a proxy only count from a trusted sender alone.
func (c *conn) fillRest(s *ask.Session, r *request.Reader) {
	s.CanWait = r.Trusted() && c.head.Is(head.Waits)
	s.CanDeceive = r.Trusted() && c.head.Is(head.Deceives)
	for _, f := range c.head.Fields() {
		r.Header(c.head.Name(f), c.head.Value(f))
	}
	for field := request.Country; field <= request.Tier; field++ {
		value, _ := c.head.Profile(head.Known + head.Profile(field))
		r.Known(field, value)
	}
	r.End()
}
