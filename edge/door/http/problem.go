package http

import (
	"encoding/json"
	"net/http"

	"github.com/headgate-dev/headgate/edge/api"
)

// tooManyConns is the whole response to a connection beyond maxHTTPConns. The connection is refused
// before the request is read, so the response is the same for all.
var tooManyConns = []byte("HTTP/1.1 503 Service Unavailable\r\nConnection: " +
	"close\r\nContent-Type: application/problem+json\r\n" +
	"Retry-After: 1\r\nContent-Length: 99\r\n\r\n" +
	`{"type":"about:blank","title":"Service Unavailable","status":503,"detail":"too many connections"}` + "\r\n")

// notHTTP1 answers another protocol or version.
func notHTTP1() *api.Problem {
	return api.BadParameter("request", "is not HTTP/1.0 or HTTP/1.1")
}

// badMethod answers a method the path does not take; detail says which are.
func badMethod(detail string) *api.Problem {
	return api.NewProblem(http.StatusMethodNotAllowed, "method", detail)
}

// onlyPost answers another method than POST on a path taking no other, or only those in allowed.
func (x *exchange) onlyPost(allowed string) *api.Problem {
	x.field("Allow", allowed)
	return badMethod("must be POST")
}

// tooSlow answers a request not arrived within httpReadTimeout.
func tooSlow() *api.Problem {
	return api.NewProblem(http.StatusRequestTimeout, "request", "did not arrive in time")
}

// noRoom answers a body for which the budget had no room in time.
func noRoom() *api.Problem {
	return api.NewProblem(http.StatusServiceUnavailable, "body",
		"must wait: too many other requests are in progress")
}

// refuse answers with p as application/problem+json. The JSON encoder escapes the parameter, which
// may be bytes of the client. Whole requests have the members in the order of their names.
func (x *exchange) refuse(p *api.Problem) {
	title := statusText(p.Status)
	var all any = struct {
		Type      string `json:"type"`
		Title     string `json:"title"`
		Status    int    `json:"status"`
		Detail    string `json:"detail"`
		Parameter string `json:"parameter"`
	}{"about:blank", title, p.Status, p.Error(), p.Parameter}
	if x.whole {
		all = map[string]any{
			"type": "about:blank", "title": title, "status": p.Status, "detail": p.Error(),
			"parameter": p.Parameter,
		}
	}
	text, err := json.Marshal(all)
	if err != nil { // strings and a number always encode
		panic(err)
	}
	x.status, x.kind, x.body = p.Status, typeProblem, append(append(x.body[:0], text...), '\n')
	switch p.Status {
	case http.StatusMethodNotAllowed:
		if len(x.fields) == 0 {
			x.field("Allow", "GET, HEAD, POST")
		}
	case http.StatusServiceUnavailable:
		x.field("Retry-After", "1")
	}
}
