package http

import (
	"encoding/json"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/valyala/fasthttp"
)

const (
	// Texts and values that several problems share.
	badRequest = fasthttp.StatusBadRequest

	allowedMethods = "GET, HEAD, POST" // of a path that says nothing else
	busyRetry      = "1"               // seconds after which to ask again when there was no room
)

// tooManyConns is the whole response to a connection beyond maxHTTPConns. The connection is
// refused before its request is read, so the response is the same for all.
var tooManyConns = []byte("HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Type: application/problem+json\r\n" +
	"Retry-After: 1\r\nContent-Length: 99\r\n\r\n" +
	`{"type":"about:blank","title":"Service Unavailable","status":503,"detail":"too many connections"}` + "\r\n")

// notHTTP1 answers another protocol or version.
func notHTTP1() *api.Problem {
	return &api.Problem{
		Status: badRequest, Parameter: "request",
		Detail: "is not HTTP/1.0 or HTTP/1.1",
	}
}

// onlyPost answers another method than POST on a path that takes no other, or only those in
// allowed.
func onlyPost(ctx *fasthttp.RequestCtx, allowed string) *api.Problem {
	ctx.Response.Header.Set(fasthttp.HeaderAllow, allowed)
	return &api.Problem{
		Status: fasthttp.StatusMethodNotAllowed, Parameter: "method",
		Detail: "must be POST",
	}
}

// tooSlow answers a request that did not arrive within httpReadTimeout.
func tooSlow() *api.Problem {
	return &api.Problem{
		Status: fasthttp.StatusRequestTimeout, Parameter: "request",
		Detail: "did not arrive in time",
	}
}

// reloaded answers a batch during which a reload removed a rule. The checks before that one were
// counted; whether to ask again is up to the client.
func reloaded() *api.Problem {
	return &api.Problem{
		Status: fasthttp.StatusServiceUnavailable, Parameter: "checks",
		Detail: "was interrupted by a change of the rules",
	}
}

// ofPage answers a request that a page of another site had a browser send.
func ofPage() *api.Problem {
	return &api.Problem{
		Status: fasthttp.StatusForbidden, Parameter: "sec-fetch-site",
		Detail: "says that a page of another site asks",
	}
}

// noRoom answers a body for which the budget had no room in time.
func noRoom() *api.Problem {
	return &api.Problem{
		Status: fasthttp.StatusServiceUnavailable, Parameter: "body",
		Detail: "must wait: too many other requests are in progress",
	}
}

// internal answers a request that met a fault of the daemon.
func internal() *api.Problem {
	return &api.Problem{
		Status: fasthttp.StatusInternalServerError, Parameter: "request",
		Detail: "met a fault of the daemon, which its log shows",
	}
}

// writeProblem writes p as application/problem+json. The JSON encoder escapes the parameter, which
// may be bytes of the client.
func writeProblem(ctx *fasthttp.RequestCtx, p *api.Problem) {
	body, err := json.Marshal(struct {
		Type      string `json:"type"`
		Title     string `json:"title"`
		Status    int    `json:"status"`
		Detail    string `json:"detail"`
		Parameter string `json:"parameter"`
	}{"about:blank", fasthttp.StatusMessage(p.Status), p.Status, p.Error(), p.Parameter})
	if err != nil { // strings and a number always encode
		panic(err)
	}
	ctx.SetStatusCode(p.Status)
	ctx.Response.Header.SetContentTypeBytes(typeProblem)
	switch p.Status {
	case fasthttp.StatusMethodNotAllowed:
		if len(ctx.Response.Header.Peek(fasthttp.HeaderAllow)) == 0 {
			ctx.Response.Header.Set(fasthttp.HeaderAllow, allowedMethods)
		}
	case fasthttp.StatusServiceUnavailable:
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, busyRetry)
	}
	ctx.Response.SetBody(append(body, '\n'))
}
