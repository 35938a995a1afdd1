package http

import (
	"net"
	"time"
)

// quickLines are request lines, most of them plain.
var quickLines = []string{
	"GET /v1/check?rule=login&key=allow HTTP/1.1",
	"GET /v1/check?rule=login&key=limit HTTP/1.1",
	"GET /v1/check?rule=login&key=shed&status=403 HTTP/1.1",
	"GET /v1/check?rule=login&key=shadow HTTP/1.1",
	"GET /v1/peek?rule=per-ip&key=block&cost=7 HTTP/1.1",
	"GET /v1/count?rule=per-ip&key=a HTTP/1.1",
	"HEAD /v1/check?rule=login&key=shed HTTP/1.1",
	"HEAD /v1/count?rule=login&key=a HTTP/1.1",
	"GET /v1/check?rule=none&key=a HTTP/1.1",
	"GET /v1/check?rule=login&key=a%20b HTTP/1.1",
	"GET /v1/check?rule=login&key=a+b HTTP/1.1",
	"GET /v1/check?rule=login&key=a#b HTTP/1.1",
	"GET /v1/check?rule=login&key=a;b?c=d HTTP/1.1",
	"GET /v1/check?key=a&rule=login& HTTP/1.1",
	"GET //v1/check?rule=login&key=a HTTP/1.1",
	"GET /v1/../v1/check?rule=login&key=a HTTP/1.1",
	"GET http://h/v1/check?rule=login&key=a HTTP/1.1",
	"GET /v1/check?rule=login&key=a  HTTP/1.1",
	"GET  /v1/check?rule=login&key=a HTTP/1.1",
	"GET /v1/check? HTTP/1.1",
	"GET /v1/check HTTP/1.1",
	"get /v1/check?rule=login&key=a HTTP/1.1",
	"GET /v1/check?rule=login&key=\x80 HTTP/1.1",
	"GET /v1/check?rule=login&rule=login&key=a HTTP/1.1",
	"GET /v1/check?rule=login&key=a HTTP/1.0",
	"DELETE /v1/check?rule=login&key=a HTTP/1.1",
}

// smuggled are headers by which two readers of one stream may disagree on where a request ends.
var smuggled = []string{
	"Content-Length: 5", "Content-Length: 0", "Content-Length: 05", "Content-Length : 5",
	"Transfer-Encoding: chunked", "Transfer-Encoding:\tchunked",
	"Transfer-Encoding: x", "Content-Length: 4\r\nTransfer-Encoding: chunked", "Connection: close",
	"Connection: Content-Length",
	"Connection: keep-alive", "Expect: 100-continue", "Upgrade: h2c", " Content-Length: 5",
	"X: a\r\n b", "Content-Length: 5\r\nContent-Length: 5",
	"X: a\nContent-Length: 5", "X\x00: a", "Host: other",
}

// discard is a connection to a client that takes every answer and looks at none.
type discard struct{ net.Conn }

func (discard) Write(b []byte) (int, error)      { return len(b), nil }
func (discard) SetReadDeadline(time.Time) error  { return nil }
func (discard) SetWriteDeadline(time.Time) error { return nil }
func (discard) RemoteAddr() net.Addr             { return &net.UnixAddr{} }
func (discard) Close() error                     { return nil }
