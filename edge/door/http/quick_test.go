package http

import (
	"bytes"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
)

// slowDecider knows no rule before it is asked, so that the library answers every request.
type slowDecider struct{ *fakeDecider }

func (slowDecider) Known([]byte) bool { return false }

// dateHeader is the part of an answer that two answers may differ in.
var dateHeader = regexp.MustCompile(`Date: [A-Za-z0-9,: ]+ GMT`)

// FuzzQuick sends whatever bytes on two connections, one of which has no quick path: both are
// answered with the same bytes, and the gate is asked the same.
func FuzzQuick(f *testing.F) {
	for _, bad := range slices.Concat(badQueries, badRequests[:len(badRequests)-1], ambiguousLengths, oddNames) {
		f.Add([]byte(bad.raw))
		f.Add([]byte(okRequest + bad.raw + okRequest))
	}
	for _, line := range quickLines {
		f.Add([]byte(line + "\r\nHost: h\r\n\r\n"))
	}
	f.Add([]byte(okRequest + post("/v1/check", jsonType, `{"rule":"login","key":"a"}`) + okRequest))
	for _, header := range smuggled {
		f.Add([]byte("GET /v1/check?rule=login&key=a HTTP/1.1\r\nHost: h\r\n" +
			header + "\r\n\r\n" + okRequest))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		quick, slow := newFakeDecider(), newFakeDecider()
		got := exchange(t, newDoor(quick, testLimits()), raw)
		want := exchange(t, newDoor(slowDecider{slow}, testLimits()), raw)
		got, want = dateHeader.ReplaceAll(got, nil), dateHeader.ReplaceAll(want, nil)
		if !bytes.Equal(got, want) {
			t.Errorf("%q\nis answered %q\nby the library %q", raw, got, want)
		}
		same := func(a, b gate.Ask) bool {
			return a.Op == b.Op && a.Cost == b.Cost && bytes.Equal(a.Rule, b.Rule) &&
				bytes.Equal(a.Key, b.Key)
		}
		if !slices.EqualFunc(quick.queries(), slow.queries(), same) {
			t.Errorf("%q\nasks %v, the library %v", raw, quick.queries(), slow.queries())
		}
	})
}

// quickLines are request lines, most of which the quick path takes.
var quickLines = []string{
	"GET /v1/check?rule=login&key=allow HTTP/1.1", "GET /v1/check?rule=login&key=limit HTTP/1.1",
	"GET /v1/check?rule=login&key=shed&status=403 HTTP/1.1",
	"GET /v1/check?rule=login&key=shadow HTTP/1.1",
	"GET /v1/peek?rule=per-ip&key=block&cost=7 HTTP/1.1",
	"GET /v1/count?rule=per-ip&key=a HTTP/1.1",
	"HEAD /v1/check?rule=login&key=shed HTTP/1.1", "HEAD /v1/count?rule=login&key=a HTTP/1.1",
	"GET /v1/check?rule=none&key=a HTTP/1.1", "GET /v1/check?rule=login&key=a%20b HTTP/1.1",
	"GET /v1/check?rule=login&key=a+b HTTP/1.1",
	"GET /v1/check?rule=login&key=a#b HTTP/1.1", "GET /v1/check?rule=login&key=a;b?c=d HTTP/1.1",
	"GET /v1/check?key=a&rule=login& HTTP/1.1",
	"GET //v1/check?rule=login&key=a HTTP/1.1", "GET /v1/../v1/check?rule=login&key=a HTTP/1.1", "GET http://h/v1/check?rule=login&key=a HTTP/1.1",
	"GET /v1/check?rule=login&key=a  HTTP/1.1", "GET  /v1/check?rule=login&key=a HTTP/1.1",
	"GET /v1/check? HTTP/1.1", "GET /v1/check HTTP/1.1",
	"get /v1/check?rule=login&key=a HTTP/1.1", "GET /v1/check?rule=login&key=\x80 HTTP/1.1",
	"GET /v1/check?rule=login&rule=login&key=a HTTP/1.1",
	"GET /v1/check?rule=login&key=a HTTP/1.0", "DELETE /v1/check?rule=login&key=a HTTP/1.1",
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
func (discard) SetWriteDeadline(time.Time) error { return nil }

// TestQuickAnswers: plain requests are answered on the quick path, others are not.
func TestQuickAnswers(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"GET /v1/check?rule=login&key=a HTTP/1.1\r\nHost: h\r\nCookie: a=b":       true,
		"HEAD /v1/check?rule=login&key=2001:db8::1 HTTP/1.1\r\nHost: h":           true,
		"GET /v1/count?rule=login&key=a&cost=3 HTTP/1.1\r\nHost: h":               true,
		"GET /v1/check?rule=login&key=a%20b HTTP/1.1\r\nHost: h":                  false,
		"GET /v1/check?rule=login&key=a HTTP/1.1\r\nHost: h\r\nConnection: close": false,
		"GET /v1/check?rule=login&key=a HTTP/1.0\r\nHost: h":                      false,
		"GET /v1/check?rule=none&key=a HTTP/1.1\r\nHost: h":                       false,
		"GET /v1/check?rule=login HTTP/1.1\r\nHost: h":                            false,
		"GET /v1/check?rule=login&key=" +
			strings.Repeat("a", 257) + " HTTP/1.1\r\nHost: h": false,
		"GET /v1/check?rule=login&key=a&b=" +
			strings.Repeat("a", 4096) + " HTTP/1.1\r\nHost: h": false,
	} {
		c := &httpConn{door: newDoor(newFakeDecider(), testLimits()), Conn: discard{}}
		c.takeBuffer()
		c.head.Begin()
		c.head.Arrived(copy(c.head.Room(), line+"\r\n\r\n"))
		if !c.progress() {
			t.Fatalf("%.40q: incomplete", line)
		}
		if got := c.answerQuickly() != notQuick; got != want || c.complete == want {
			t.Errorf("%.60q: answered quickly is %v", line, got)
		}
	}
}

// TestQuickStops: while the door drains, a connection ends with the answer under way.
func TestQuickStops(t *testing.T) {
	t.Parallel()
	h := newDoor(newFakeDecider(), testLimits())
	h.draining.Store(true)
	replies := converse(t, h, []byte(okRequest+okRequest))
	if len(replies) != 1 || replies[0].StatusCode != http.StatusOK || !replies[0].Close {
		t.Errorf("%d replies: %+v", len(replies), replies)
	}
}
