package edge

import (
	"encoding/json"
	"fmt"

	"github.com/valyala/fasthttp"
)

const (
	badRequest = fasthttp.StatusBadRequest
	costRange  = "must be a whole number from 1 to 1000000"

	allowedMethods = "GET, HEAD, POST"
	busyRetry      = "1" // seconds after which to ask again when there was no room
	maxNameShown   = 64  // bytes of a client's own words in a problem
)

// crowdedOut is the answer to a connection too many. A connection is refused before anything is read of it, so the
// answer is the same for all.
var crowdedOut = []byte("HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Type: application/problem+json\r\n" +
	"Retry-After: 1\r\nContent-Length: 99\r\n\r\n" +
	`{"type":"about:blank","title":"Service Unavailable","status":503,"detail":"too many connections"}` + "\r\n")

// problem is what is wrong with a request. Nothing was counted for it.
type problem struct {
	status    int
	parameter string // which part of the request is wrong
	detail    string
	whole     bool // the parameter is no part of a check
}

func badParam(parameter, detail string) *problem {
	return &problem{status: badRequest, parameter: parameter, detail: detail}
}

func givenTwice(parameter string) *problem { return badParam(parameter, "is given twice") }

func unknownRule(parameter string) *problem {
	return &problem{status: fasthttp.StatusNotFound, parameter: parameter, detail: "names no rule"}
}

func notHTTP1() *problem {
	return &problem{status: badRequest, parameter: "request", detail: "is not HTTP/1.0 or HTTP/1.1"}
}

func tooSlow() *problem {
	return &problem{status: fasthttp.StatusRequestTimeout, parameter: "request", detail: "did not arrive in time"}
}

// reloaded answers a batch during which a rule went: its first checks were counted, and asking again is the client's choice.
func reloaded() *problem {
	return &problem{status: fasthttp.StatusServiceUnavailable, parameter: "checks", detail: "met a change of the rules"}
}

// noPlace answers a body for which there is no room now.
func noPlace() *problem {
	return &problem{status: fasthttp.StatusServiceUnavailable, parameter: "body", detail: "found too many others under way"}
}

// checkParameter names a member of the i-th check.
func checkParameter(i int, name string) string { return fmt.Sprintf("checks[%d].%s", i, name) }

// inCheck returns p as a problem of the i-th check.
func (p *problem) inCheck(i int) *problem {
	if !p.whole {
		p.parameter = checkParameter(i, p.parameter)
	}
	return p
}

// shown bounds what is shown of a client's own words, and makes something of nothing.
func shown(name []byte) string {
	if len(name) == 0 {
		return `""`
	}
	return string(name[:min(len(name), maxNameShown)])
}

// write answers p as application/problem+json. The JSON encoder escapes whatever the parameter's name holds.
func (p *problem) write(ctx *fasthttp.RequestCtx) {
	body, err := json.Marshal(struct {
		Type      string `json:"type"`
		Title     string `json:"title"`
		Status    int    `json:"status"`
		Detail    string `json:"detail"`
		Parameter string `json:"parameter"`
	}{"about:blank", fasthttp.StatusMessage(p.status), p.status, p.parameter + " " + p.detail, p.parameter})
	if err != nil { // strings and a number always encode
		panic(err)
	}
	ctx.SetStatusCode(p.status)
	ctx.Response.Header.SetContentTypeBytes(typeProblem)
	switch p.status {
	case fasthttp.StatusMethodNotAllowed:
		ctx.Response.Header.Set(fasthttp.HeaderAllow, allowedMethods)
	case fasthttp.StatusServiceUnavailable:
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, busyRetry)
	}
	ctx.Response.SetBody(append(body, '\n'))
}
