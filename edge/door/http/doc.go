// Package http is the HTTP/1.x decision listener: /v1/check, /v1/peek and /v1/count for proxies
// and programs.
//
//	accept ─► await: head reads and checks the head ─► line ─► parameters or JSON
//	                                                                │ all valid?
//	client ◄─ 200, 204, 401, 403, 429, 503 ◄─ headers, JSON ◄─ gate.Decision ◄─ Decide
//	       ◄─ problem+json: nothing was counted ◄───────────────────┘ no
//
// A connection waits for its client without a buffer. Of a head only the request line, the Host and
// the headers policies look at are kept. Bodies are read within a budget of bytes for all
// connections. So the memory of slow clients is bounded: see maxHTTPConns.
//
// The door gives up HTTP/2, TLS, compression, trailers and all request headers beside framing. A
// proxy in front provides such features. A request of ambiguous length is refused and ends the
// connection.
//
// The door must never decide anything itself, count a malformed request, put bytes of a client
// into a response header, or log per request.
package http
