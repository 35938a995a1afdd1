package caddy

import (
	"strconv"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

func init() { // as Caddy finds its directives
	httpcaddyfile.RegisterHandlerDirective("headgate", parse)
	// Before redir, which comes early among Caddy's own: a request that is denied must not be
	// answered by any of them.
	httpcaddyfile.RegisterDirectiveOrder("headgate", httpcaddyfile.Before, "redir")
}

// Caddy looks for these.
var (
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddy.CleanerUpper          = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
	_ caddyfile.Unmarshaler       = (*Handler)(nil)
)

func parse(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
	handler := new(Handler)
	return handler, handler.UnmarshalCaddyfile(h.Dispenser)
}

// UnmarshalCaddyfile reads the directive; see the package's comment.
// headgate 127.0.0.1:4290 { timeout 20ms; fail open }, each option on a line of its own, is an
// example.
func (h *Handler) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // the directive's name
	if d.NextArg() {
		h.Address = d.Val()
	}
	if d.NextArg() {
		return d.ArgErr()
	}
	given := map[string]bool{}
	for d.NextBlock(0) {
		name := d.Val()
		if given[name] {
			return d.Errf("%s is given twice", name)
		}
		// Of two lines for one option one would be lost silently.
		given[name] = true
		if err := h.option(d, name); err != nil {
			return err
		}
	}
	if err := h.check(); err != nil {
		return d.Err(err.Error())
	}
	return nil
}

// option reads the values of one option.
// The cases stand in the order in which a line can be wrong: no value, too many, a wrong one, no
// such option.
func (h *Handler) option(d *caddyfile.Dispenser, name string) error {
	values := d.RemainingArgs()
	one := map[string]*string{
		"rule": &h.Rule, "key": &h.Key, "country": &h.Country,
		"tier": &h.Tier,
	}[name]
	switch {
	case len(values) == 0:
		return d.ArgErr()
	case name == "headers":
		h.Headers = values
		return nil
	case name == "response_headers":
		h.ResponseHeaders = values
		return nil
	case name == "deceive":
		return h.deceive(d, values)
	case len(values) > 1:
		return d.ArgErr()
	case one != nil:
		*one = values[0]
		return nil
	case name == "timeout":
		return h.timeout(d, values[0])
	case name == "fail" && (values[0] == "open" || values[0] == "closed"):
		h.FailClosed = values[0] == "closed"
		return nil
	case name == "fail":
		return d.Errf("fail is open or closed, not %q", values[0])
	case name == "wait" && (values[0] == "on" || values[0] == "off"):
		h.NoWait = values[0] == "off"
		return nil
	case name == "wait":
		return d.Errf("wait is on or off, not %q", values[0])
	}
	return d.Errf("there is no option %q: timeout, fail, rule, key, headers, response_headers, country, tier, wait, deceive", name)
}

// deceive reads a response.
// It becomes Caddy's own static response, so that placeholders in the body are filled in as in
// respond.
func (h *Handler) deceive(d *caddyfile.Dispenser, values []string) error {
	status, err := strconv.Atoi(values[0])
	if err != nil || status < 200 || status > 599 || len(values) > 2 {
		return d.Errf("deceive is a status and a body, such as 200 \"Thank you.\"")
	}
	h.Deceive = &caddyhttp.StaticResponse{StatusCode: caddyhttp.WeakString(values[0])}
	if len(values) == 2 {
		h.Deceive.Body = values[1]
	}
	return nil
}

// timeout reads a time.
// Caddy's durations have days too, as 1d; check has the upper bound.
func (h *Handler) timeout(d *caddyfile.Dispenser, text string) error {
	t, err := caddy.ParseDuration(text)
	if err != nil || t <= 0 {
		return d.Errf("the timeout is a time above 0 such as 20ms, not %q", text)
	}
	h.Timeout = caddy.Duration(t)
	return nil
}
