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
	"github.com/headgate-dev/headgate/edge/request"
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
	// From a pool and not a connection's own: a session is some 60 KiB, and most connections are
	// idle.
	k := h.asking.Get().(*asking) //nolint:forcetypeassert // see newDoor
	defer h.asking.Put(k)
	began := h.decider.Now()
	f := authForm{http11: c.head.HTTP11}
	// A body is not read here, so that a request which has one ends the connection.
	f.last = c.head.Close || !c.head.HTTP11 && !c.head.KeepAlive ||
		c.head.Length != 0 || c.head.Expect
	f.last, c.long = f.last || c.head.Odd || c.head.Broken, c.head.Broken
	if p := c.fillAuth(k.session, &f); p != nil {
		h.noteRefused(p)
		k.problem(h, p, f)
	} else {
		b := h.lanes[c.id%uint64(len(h.lanes))].Batch(began, rand.Uint64)
		a := k.session.Decide(&b, began, rand.Uint64()) //nolint:gosec // ChaCha8, seeded by the system
		b.End()
		// Looked at after the decision, so that a stop which began meanwhile is told.
		f.last = f.last || h.draining.Load()
		c.owe(a.Ticket)
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

// fillAuth fills the session's request from c's head, and its form into f. What it returns is a
// fault of the operator: a path that there is not, a profile without its header, another protocol.
func (c *httpConn) fillAuth(s *ask.Session, f *authForm) *api.Problem {
	r := s.Read(c.peer)
	if c.head.Unfit != 0 {
		s.Request.Unfit = c.head.Unfit
	}
	method, rest, _ := bytes.Cut(c.head.RequestLine(), []byte{' '})
	f.bodiless = string(method) == "HEAD"
	end := max(bytes.LastIndexByte(rest, ' '), 0)
	target, version := rest[:end], rest[end:]
	// Where the next request would begin is not known after a line like this.
	if !c.head.Broken && (len(version) != len(" HTTP/1.1") ||
		!bytes.HasPrefix(version[1:], http1)) {
		f.last = true
		return notHTTP1()
	}
	path, _, _ := bytes.Cut(target, []byte{'?'})
	host := c.head.Host()
	var p *api.Problem
	switch {
	case c.head.Broken: // its request line may be cut
	case string(path) == authNginx:
		f.nginx = true
		p = c.fillBy(r, head.OriginalMethod, head.OriginalURI)
	case string(path) == authForward:
		if forwarded, _ := c.head.Profile(head.ForwardedHost); len(forwarded) > 0 {
			host = forwarded
		}
		p = c.fillBy(r, head.ForwardedMethod, head.ForwardedURI)
	case string(path) == authEnvoy || bytes.HasPrefix(path, []byte(authEnvoy+"/")):
		// Envoy's path_prefix is put before the path, perhaps with no slash between:
		// "/v1/auth/envoy" and "?x".
		r.Target(target[len(authEnvoy):])
		r.Method(method)
	default:
		p = &api.Problem{
			Status: fasthttp.StatusNotFound, Parameter: "path",
			Detail: "is none of /v1/auth/nginx, /v1/auth/forward and /v1/auth/envoy/…",
		}
	}
	r.Host(host)
	c.fillRest(s, r)
	return p
}

// fillBy fills in the method and the target that two headers name.
func (c *httpConn) fillBy(r *request.Reader, method, uri head.Profile) *api.Problem {
	target, given := c.head.Profile(uri)
	if !given && c.head.Unfit == 0 {
		return api.BadParameter(neededBy[uri], "is missing")
	}
	is, _ := c.head.Profile(method)
	r.Method(is)
	r.Target(target)
	return nil
}

// neededBy are the headers without which nothing is known of a request.
var neededBy = map[head.Profile]string{
	head.OriginalURI:  "X-Original-URI",
	head.ForwardedURI: "X-Forwarded-Uri",
}

// fillRest fills in what all profiles take from the same headers.
// All headers of the visitor come along; those that say what only a proxy can know count from a
// trusted sender alone.
func (c *httpConn) fillRest(s *ask.Session, r *request.Reader) {
	s.CanWait, s.CanDeceive = r.Trusted() && c.head.Waits, r.Trusted() && c.head.Deceives
	for _, f := range c.head.Fields() {
		r.Header(c.head.Name(f), c.head.Value(f))
	}
	for field := request.Country; field <= request.Tier; field++ {
		value, _ := c.head.Profile(head.Known + head.Profile(field))
		r.Known(field, value)
	}
	r.End()
}
