package main

import (
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/valyala/fasthttp"
)

// maxHeaders is the size of headers that the decision listener must accept, in bytes, and margin
// the size that the request line and the library's own reckoning take besides.
const (
	maxHeaders = 64 << 10
	margin     = 4 << 10
)

// The headers of an allowed answer; both prototypes send the same ones.
const (
	// Constants, so that nothing is formatted: a prototype shows the library's price and not that
	// of deciding.
	policy    = `"per-ip";q=100;w=10`
	remaining = `"per-ip";r=99;t=10`
)

// appendVerdict writes a body of the shape and size the real listener writes.
// Numbers are written in: to format them would be the gate's share of the work, and not the
// library's.
func appendVerdict(dst []byte, rule string) []byte {
	dst = append(dst, `{"verdict":"allow","rule":"`...)
	dst = append(dst, rule...)
	return append(dst, `","limit":100,"window":10,"remaining":99,"reset":10,"view":"node"}`...)
}

// known stands in for finding the rule and deciding about the key.
// A comparison is the least that can be done, so the figure is that of the way there and back.
func known(rule, key string) bool { return rule == "per-ip" && key != "" }

// checkStd is the prototype on net/http, written for speed: no ServeMux, values found in the raw
// query, header slices set directly.
// It is as fast as net/http can be made without leaving it: that was the question when the door's
// library was chosen.
func checkStd(addr string) error {
	l, err := listen(addr)
	if err != nil {
		return err
	}
	s := &http.Server{MaxHeaderBytes: maxHeaders, Handler: http.HandlerFunc(handleStd)} //nolint:gosec // a bare server, to compare with
	return s.Serve(l)
}

// bodies keeps net/http's answer buffers; fasthttp keeps its own.
var bodies = sync.Pool{New: func() any { b := make([]byte, 0, 256); return &b }}

func handleStd(w http.ResponseWriter, r *http.Request) {
	// For measuring what connections take when they are idle: load --hold keeps them open
	// meanwhile.
	if r.URL.Path == "/mem" {
		fmt.Fprint(w, memory())
		return
	}
	rule, key := rawValue(r.URL.RawQuery, "rule"), rawValue(r.URL.RawQuery, "key")
	if r.URL.Path != "/v1/check" || !known(rule, key) {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	h := w.Header()
	// Set by their canonical names, which skips the work of finding them.
	h["Content-Type"] = []string{"application/json"}
	h["Ratelimit-Policy"] = []string{policy}
	h["Ratelimit"] = []string{remaining}
	h["Headgate-Verdict"] = []string{"allow"}
	h["Headgate-View"] = []string{"node"}
	body := bodies.Get().(*[]byte)
	*body = appendVerdict((*body)[:0], rule)
	_, _ = w.Write(*body)
	bodies.Put(body)
}

// rawValue finds one value in a raw query without building a map.
func rawValue(query, name string) string {
	for part := range strings.SplitSeq(query, "&") {
		if k, v, _ := strings.Cut(part, "="); k == name {
			if strings.ContainsAny(v, "%+") {
				v, _ = url.QueryUnescape(v)
			}
			return v
		}
	}
	return ""
}

// checkFast is the prototype on fasthttp. Its read buffer bounds the headers, so it must be as
// large as they may be; lean gives the buffers of idle connections back.
func checkFast(addr string, lean bool) error {
	l, err := listen(addr)
	if err != nil {
		return err
	}
	s := &fasthttp.Server{
		Handler: handleFast, ReadBufferSize: maxHeaders + margin,
		ReduceMemoryUsage: lean, NoDefaultServerHeader: true,
	}
	return s.Serve(l)
}

func handleFast(ctx *fasthttp.RequestCtx) {
	path := string(ctx.Path())
	if path == "/mem" {
		ctx.SetBodyString(memory())
		return
	}
	args := ctx.QueryArgs()
	rule, key := string(args.Peek("rule")), string(args.Peek("key"))
	if path != "/v1/check" || !known(rule, key) {
		ctx.SetStatusCode(fasthttp.StatusNotFound)
		return
	}
	h := &ctx.Response.Header
	h.SetContentType("application/json")
	h.Set("RateLimit-Policy", policy)
	h.Set("RateLimit", remaining)
	h.Set("Headgate-Verdict", "allow")
	h.Set("Headgate-View", "node")
	ctx.Response.SetBodyRaw(nil)
	ctx.Response.AppendBody(appendVerdict(make([]byte, 0, 256), rule))
}

// memory collects garbage and returns the bytes left in use.
// It collects first, since garbage of the load would hide the memory of idle connections.
func memory() string {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return fmt.Sprintf("heap=%d stacks=%d\n", m.HeapInuse, m.StackInuse)
}
