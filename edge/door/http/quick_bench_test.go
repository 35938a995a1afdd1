package http

import (
	"testing"

	"github.com/headgate-dev/headgate/edge/door/http/head"
)

const benchPolicies = `
rules: [{name: login, limit: 1000000, window: 1m}]
policies:
  - {name: scanners, match: {path: ["/.env", "/wp-admin/**"]}, deny: 403}
  - {name: by-key, match: {host: api.example.com, header.x-api-key: true}, key: raw(header.x-api-key), limit: 1000000, window: 1m}
  - {name: by-client, match: {path: "/v2/**"}, limit: 1000000, window: 1m}
`

// BenchmarkQuick is the whole of a request but its system calls, from the head to the written answer: a
// check, and whole requests with no question, one and two, with the headers of an ordinary visitor.
func BenchmarkQuick(b *testing.B) {
	visitor := []string{
		"Host: api.example.com", "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36", "Accept: application/json", "Accept-Encoding: gzip, br",
		"Accept-Language: de", "Cookie: sid=abc; theme=dark", "X-Request-Id: f00",
	}
	nginx := func(uri string, more ...string) string {
		lines := append([]string{"GET /v1/auth/nginx HTTP/1.1"}, visitor...)
		return rawRequest(append(append(lines, "X-Original-URI: "+uri, "X-Original-Method: GET"), more...)...)
	}
	for _, c := range []struct{ name, raw string }{
		{"check", rawRequest(append([]string{"GET /v1/check?rule=login&key=203.0.113.7 HTTP/1.1"}, visitor...)...)},
		{"auth/questions=0", nginx("/static/a.png", "X-Other: k")},
		{"auth/questions=1", nginx("/static/a.png", "X-API-Key: k")},
		{"auth/questions=2", nginx("/v2/users/4711", "X-API-Key: k")},
	} {
		b.Run(c.name, func(b *testing.B) {
			h, _ := doorOf(b, benchPolicies)
			conn := &httpConn{door: h, Conn: discard{}}
			conn.head.Source = h.names
			buf := new([head.Size]byte)
			b.ReportAllocs()
			for b.Loop() {
				conn.head.Begin()
				conn.head.GiveBack()
				conn.head.Lend(buf)
				conn.head.Arrived(copy(conn.head.Room(), c.raw))
				conn.complete, conn.fault = conn.head.Advance()
				if conn.answerQuickly() != quick {
					b.Fatal("not answered")
				}
			}
		})
	}
}
