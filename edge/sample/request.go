package sample

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/edge/request"
)

// loopback is the peer of a request naming none: a proxy on the same machine.
const loopback = "127.0.0.1"

// proxyFields are the headers by which a proxy says what it knows of a request.
// In the order of docs/protocol.md. They are believed of a trusted peer only, as at a door.
var proxyFields = map[string]func(r *request.Request, value []byte) bool{
	"headgate-country": func(r *request.Request, value []byte) bool {
		r.Country = value
		return true
	},
	"headgate-ja3":  func(r *request.Request, value []byte) bool { r.JA3 = value; return true },
	"headgate-ja4":  func(r *request.Request, value []byte) bool { r.JA4 = value; return true },
	"headgate-tls":  func(r *request.Request, value []byte) bool { r.TLS = value; return true },
	"headgate-tier": func(r *request.Request, value []byte) bool { r.Tier = value; return true },
	"headgate-asn":  (*request.Request).SetASN,
}

// fill makes r the request s and says how its client was found. It does by hand what a door does:
// the same setters in the same order, so what people see is what would happen. curl's habits hold:
// no method is GET, no scheme is http.
func fill(
	r *request.Request, s *api.TestRequest, e *policy.Engine,
) (found request.Found, err error) {
	r.Reset(e.Names())
	method := s.Method
	if method == "" {
		method = "GET"
	}
	text := s.URL
	// example.com/login is what people write.
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a URL: %w", s.URL, err)
	}
	_, target, _ := strings.Cut(text, "://")
	// As written, since url.Parse decodes it, and normalising the path is policies' own affair.
	target = target[len(u.Host):]
	r.Method, r.Scheme, r.Status = []byte(method), []byte(u.Scheme), s.Status
	r.SetHost([]byte(u.Host))
	r.SetTarget([]byte(target), e.Clients())
	if r.Peer, err = address(s.Peer, loopback); err != nil {
		return 0, err
	}
	trusted := e.Clients().Trusts(r.Peer)
	for _, h := range s.Headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok {
			return 0, fmt.Errorf("a header is written as 'name: value', not as %q", h)
		}
		value = strings.TrimSpace(value)
		if set := proxyFields[strings.ToLower(name)]; set != nil && trusted {
			if !set(r, []byte(value)) {
				return 0, fmt.Errorf("%s: %q is no number", name, value)
			}
		}
		if strings.EqualFold(name, "host") {
			r.SetHost([]byte(value))
		}
		r.AddHeader([]byte(name), []byte(value))
	}
	var given netip.Addr
	if s.Client != "" {
		if given, err = address(s.Client, ""); err != nil {
			return 0, err
		}
	}
	return r.FindClient(e.Clients(), given), nil
}

// The reader of addresses that doors use, so ports and brackets are taken here as well.
func address(text, standard string) (netip.Addr, error) {
	if text == "" {
		text = standard
	}
	a, ok := request.ParseAddress([]byte(text))
	if !ok {
		return netip.Addr{}, fmt.Errorf("%q is not an address", text)
	}
	return a, nil
}
