package main

import (
	"net/http"

	"github.com/valyala/fasthttp"
)

// 204 has no body and no Content-Length: it is the least that an HTTP answer can be.
func http204Std(addr string) error {
	l, err := listen(addr)
	if err != nil {
		return err
	}
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { //nolint:gosec // a bare server, to compare with
		w.WriteHeader(http.StatusNoContent)
	}))
}

// Without options: each library as its users meet it. The prototypes in check.go set some.
func http204Fast(addr string) error {
	l, err := listen(addr)
	if err != nil {
		return err
	}
	return fasthttp.Serve(l, func(ctx *fasthttp.RequestCtx) { ctx.SetStatusCode(fasthttp.StatusNoContent) })
}
