package http

import (
	"bytes"
	"math/rand/v2"
	"net"
	"net/netip"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/door"
	"github.com/headgate-dev/headgate/edge/door/http/head"
	"github.com/valyala/fasthttp"
)

// A proxy asks about its client's request by sending that request's headers to one of these paths.
// They are answered without the HTTP library, like the quick path, for the library never sees more
// headers than the Host:
//
//	nginx    X-Original-Method, X-Original-URI or X-Original-URL, Host; denied with 403
//	forward  X-Forwarded-Method, X-Forwarded-Uri, X-Forwarded-Host
//	envoy/…  the request itself, its path behind the prefix
const (
	authNginx   = head.AuthPath + "nginx"
	authForward = head.AuthPath + "forward"
	authEnvoy   = head.AuthPath + "envoy"
)

// methodGet is the method of a request that names none.
var methodGet = []byte("GET")

// asking is the memory of one whole request.
type asking struct {
	session *ask.Session
	out     []byte
	body    []byte
	kind    []byte // type of the body
}

// peerOf returns the address of the other end; the zero Addr stands for a unix socket.
func peerOf(at net.Addr) netip.Addr {
	if tcp, ok := at.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// authForm is the form of the answer to one request.
type authForm struct {
	// auth_request passes on 401 and 403 only, and takes any other status for a fault
	nginx    bool // denials are 403
	bodiless bool
	http11   bool
	last     bool // the connection ends
}

// answerAuth answers the complete head of c, whose path begins with authPath.
func (c *httpConn) answerAuth() quickResult {
	h := c.door
	// From a pool and not a connection's own: a session is some 60 KiB, and most connections are idle.
	k := h.asking.Get().(*asking) //nolint:forcetypeassert // see newDoor
	defer h.asking.Put(k)
	began := h.decider.Now()
	f := authForm{http11: c.head.HTTP11}
	// A body is not read here, so that a request which has one ends the connection.
	f.last = c.head.Close || !c.head.HTTP11 && !c.head.KeepAlive || c.head.Length != 0 || c.head.Expect
	target, p := c.authLine(&f)
	if p == nil {
		p = c.fillAuth(k.session, target, &f)
	}
	if p != nil {
		h.noteRefused(p)
		k.problem(h, p, f)
	} else {
		b := h.lanes[c.id%uint64(len(h.lanes))].Batch(began, rand.Uint64)
		a := k.session.Decide(&b, began, rand.Uint64()) //nolint:gosec // ChaCha8, seeded by the system
		b.End()
		// Looked at after the decision, so that a stop which began meanwhile is told.
		f.last = f.last || h.draining.Load()
		k.answer(h, a, f)
	}
	if c.quickly++; (c.id+c.quickly)%door.LatencyEvery == 0 {
		h.latency.Note(h.decider.Now().Sub(began))
	}
	c.complete, c.answering = false, false
	_, _ = c.Write(k.out)
	c.ended()
	if f.last {
		return quickLast
	}
	return quick
}

// authLine parses the request line into f and returns its target.
func (c *httpConn) authLine(f *authForm) (target []byte, p *api.Problem) {
	line := c.head.RequestLine()
	method, rest, _ := bytes.Cut(line, []byte{' '})
	target, version, ok := bytes.Cut(rest, []byte{' '})
	f.bodiless = string(method) == "HEAD"
	switch {
	// Where the next request would begin is not known after a line like this.
	case !ok || !head.IsToken(method) || !bytes.HasPrefix(version, http1) || len(version) != len("HTTP/1.1"):
		f.last = true
		return nil, notHTTP1()
	case len(target) > head.MaxTarget:
		return nil, head.LongTarget()
	}
	return target, nil
}

// fillAuth fills the session's request from c's head and target.
func (c *httpConn) fillAuth(s *ask.Session, target []byte, f *authForm) *api.Problem {
	s.Begin()
	path, _, _ := bytes.Cut(target, []byte{'?'})
	switch {
	case string(path) == authNginx:
		f.nginx = true
		return c.fillBy(s, head.OriginalMethod, head.OriginalURI, "X-Original-URI")
	case string(path) == authForward:
		return c.fillBy(s, head.ForwardedMethod, head.ForwardedURI, "X-Forwarded-Uri")
	case string(path) == authEnvoy || bytes.HasPrefix(path, []byte(authEnvoy+"/")):
		rest := target[len(authEnvoy):]
		// Envoy's path_prefix is put before the path without a slash between: "/v1/auth/envoy" and "/a" or "?x".
		if len(rest) == 0 || rest[0] != '/' {
			rest = append([]byte{'/'}, rest...)
		}
		method, _, _ := bytes.Cut(c.head.RequestLine(), []byte{' '})
		s.Request.Method = method
		s.Request.SetTarget(rest, s.Clients())
		return c.fillRest(s, c.head.Host())
	}
	return &api.Problem{
		Status: fasthttp.StatusNotFound, Parameter: "path",
		Detail: "is none of /v1/auth/nginx, /v1/auth/forward and /v1/auth/envoy/…",
	}
}

// fillBy fills the session's request with the method and the path that two headers name.
// An empty method is one that the proxy's variable did not have.
func (c *httpConn) fillBy(s *ask.Session, method, uri head.Profile, needed string) *api.Problem {
	r := &s.Request
	r.Method = methodGet
	var target []byte
	host, found := c.head.Host(), false
	for _, f := range c.head.Fields() {
		value := c.head.Value(f)
		switch f.Profile {
		case method:
			if len(value) > 0 {
				r.Method = value
			}
		case uri:
			// Where the proxy sets one of X-Original-URI and -URL, a visitor's own other one comes along. nginx writes
			// its own headers before the visitor's.
			if !found {
				target, found = value, true
			}
		case head.ForwardedHost:
			if method == head.ForwardedMethod && len(value) > 0 {
				host = value
			}
		default:
		}
	}
	if !found {
		return api.BadParameter(needed, "is missing")
	}
	r.SetTarget(target, s.Clients())
	return c.fillRest(s, host)
}

// fillRest fills what all profiles take from the same headers.
// All headers of the visitor come along; those that say what only a proxy can know count from a trusted sender alone.
func (c *httpConn) fillRest(s *ask.Session, host []byte) *api.Problem {
	r := &s.Request
	r.Peer = c.peer
	trusted := s.Clients().Trusts(c.peer)
	s.CanWait, s.CanDeceive = trusted && c.head.Waits, trusted && c.head.Deceives
	for _, f := range c.head.Fields() {
		name, value := c.head.Name(f), c.head.Value(f)
		// It keeps only those that a policy looks at.
		r.AddHeader(name, value)
		if trusted && !setKnown(s, f.Profile, value) {
			return api.BadParameter("Headgate-ASN", "is no number")
		}
	}
	r.SetHost(host)
	s.FindClient(netip.Addr{})
	return nil
}

// setKnown sets a field that only a trusted proxy may set.
func setKnown(s *ask.Session, p head.Profile, value []byte) bool {
	r := &s.Request
	switch p {
	case head.ForwardedScheme:
		r.Scheme = value
	case head.KnownCountry:
		r.Country = value
	case head.KnownASN:
		return r.SetASN(value)
	case head.KnownJA3:
		r.JA3 = value
	case head.KnownJA4:
		r.JA4 = value
	case head.KnownTLS:
		r.TLS = value
	case head.KnownTier:
		r.Tier = value
	default:
	}
	return true
}
