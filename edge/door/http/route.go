package http

import (
	"bytes"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/door/http/head"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/valyala/fasthttp"
)

// route returns the operation that path and method name. The path is matched after
// percent-decoding.
func route(ctx *fasthttp.RequestCtx) (gate.Op, *api.Problem) {
	if !bytes.HasPrefix(ctx.Request.Header.Protocol(), http1) {
		ctx.SetConnectionClose() // the bytes behind it belong to another protocol
		return 0, notHTTP1()
	}
	if len(ctx.RequestURI()) > head.MaxTarget {
		return 0, head.LongTarget()
	}
	var op gate.Op
	switch string(ctx.Path()) {
	case "/v1/check":
		op = gate.Check
	case "/v1/peek":
		op = gate.Peek
	case "/v1/count":
		op = gate.Count
	default:
		return 0, &api.Problem{
			Status: fasthttp.StatusNotFound, Parameter: "path", Detail: "is none of /v1/check, /v1/peek, /v1/count, /v1/auth/…, /v1/ask, /v1/report, /v1/acquire, /v1/release, /v1/renew, /v1/settle and /v1/load",
		}
	}
	if !ctx.IsGet() && !ctx.IsPost() && !ctx.IsHead() {
		return 0, &api.Problem{
			Status: fasthttp.StatusMethodNotAllowed, Parameter: "method",
			Detail: "must be GET, HEAD or POST",
		}
	}
	if bytes.IndexByte(ctx.RequestURI(), '#') >= 0 {
		// A fragment is never sent; dropping it would quietly cut the key of a client that forgot
		// to encode.
		return 0, api.BadParameter("uri", "has a # that is not percent-encoded")
	}
	return op, nil
}

// changes reports whether a question at path counts, takes or frees something for the sender. At
// the others a proxy may hand on the headers of its visitor.
func changes(path []byte) bool {
	switch string(path) {
	case "/v1/check", "/v1/peek":
		return false
	}
	return true
}

// http1 begins the protocol name of every request that this door reads.
var http1 = []byte("HTTP/1.")
