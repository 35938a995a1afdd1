package seam

import (
	"slices"
	"strings"
)

// Header is one line of a request's head. One without a name is its value alone: a line that is no
// header.
type Header struct{ Name, Value string }

// Request is a request as its visitor spells it, byte for byte.
type Request struct {
	Method, Target, Version string
	Headers                 []Header
	Body                    string
}

// plain is an honest visitor's request.
func plain() Request {
	return Request{
		Method: "GET", Target: "/", Version: "HTTP/1.1",
		Headers: []Header{{"Host", "ok.test"}},
	}
}

// Bytes returns the request as it is sent.
func (r *Request) Bytes() string {
	var b strings.Builder
	b.WriteString(r.Method + " " + r.Target + " " + r.Version + "\r\n")
	for _, h := range r.Headers {
		if h.Name != "" {
			b.WriteString(h.Name + ": ")
		}
		b.WriteString(h.Value + "\r\n")
	}
	return b.String() + "\r\n" + r.Body
}

// Get returns the value of the first header of that name, in any case.
func (r *Request) Get(name string) string {
	for _, h := range r.Headers {
		if strings.EqualFold(h.Name, name) {
			return h.Value
		}
	}
	return ""
}

// set has one header of that name, at the place of the first.
func (r *Request) set(name, value string) {
	at := slices.IndexFunc(r.Headers,
		func(h Header) bool { return strings.EqualFold(h.Name, name) })
	if at < 0 {
		r.add(name, value)
		return
	}
	r.Headers[at] = Header{name, value}
}

// add adds headers of one name.
func (r *Request) add(name string, values ...string) {
	for _, value := range values {
		r.Headers = append(r.Headers, Header{name, value})
	}
}

// drop leaves out the headers of that name.
func (r *Request) drop(name string) {
	r.Headers = slices.DeleteFunc(r.Headers,
		func(h Header) bool { return strings.EqualFold(h.Name, name) })
}

// last reports whether nobody can say where the next request on the same connection would begin.
func (r *Request) last() bool {
	odd := func(text string) bool { return strings.ContainsAny(text, "\r\n") }
	return r.Body != "" || r.Version != "HTTP/1.1" ||
		!slices.Contains([]string{"GET", "HEAD", "POST"}, r.Method) || odd(r.Target) ||
		slices.ContainsFunc(r.Headers,
			func(h Header) bool { return h.Name == "" || odd(h.Name) || odd(h.Value) })
}
