//go:build !race

package front

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// oddRules deny every request. The policies before that look at what the odd requests have too much
// of.
const oddRules = `
rules: []
policies:
  - {name: looks, match: {header.accept: evil, cookie.c: evil, query.q: evil, header.content-type: evil}, deny: 404}
  - {name: everybody, match: {}, deny: 403}
`

// oddRequests are requests that some server may take. HOST stands for the address of the proxy.
var oddRequests = []string{
	"GET http://HOST?x HTTP/1.1\r\nHost: HOST\r\n",
	"GET http://HOST HTTP/1.1\r\nHost: HOST\r\n",
	"GET http:x HTTP/1.1\r\nHost: HOST\r\n",
	"GET ?x HTTP/1.1\r\nHost: HOST\r\n",
	"GET x HTTP/1.1\r\nHost: HOST\r\n",
	"GET * HTTP/1.1\r\nHost: HOST\r\n",
	"OPTIONS * HTTP/1.1\r\nHost: HOST\r\n",
	"CONNECT HOST HTTP/1.1\r\nHost: HOST\r\n",
	"GET /#x HTTP/1.1\r\nHost: HOST\r\n",
	"GET /\x01 HTTP/1.1\r\nHost: HOST\r\n",
	"GET /\xff HTTP/1.1\r\nHost: HOST\r\n",
	"A-b_c%1 / HTTP/1.1\r\nHost: HOST\r\n",
	strings.Repeat("M", 300) + " / HTTP/1.1\r\nHost: HOST\r\n",
	"GET / HTTP/1.1\r\nHost: [abc\r\n",
	"GET / HTTP/1.1\r\nHost: [::1\r\n",
	"GET / HTTP/1.1\r\nHost: x@a\r\n",
	"GET / HTTP/1.1\r\nHost: a:99999\r\n",
	"GET / HTTP/1.1\r\nHost: a:b:c\r\n",
	"GET / HTTP/1.1\r\nHost: a#b?c\r\n",
	"GET / HTTP/1.1\r\nHost: \xff\r\n",
	"GET / HTTP/1.1\r\nHost: " + strings.Repeat("h", 300) + "\r\n",
	"GET / HTTP/1.1\r\nHost: " + strings.Repeat("h", 5000) + "\r\n",
	"GET / HTTP/1.0\r\n",
	"GET / HTTP/1.1\r\nHost: HOST\r\nContent-Type: \x01\r\n",
	"GET / HTTP/1.1\r\nHost: HOST\r\nX-Forwarded-For: \x01\r\n",
	"GET / HTTP/1.1\r\nHost: HOST\r\nX-Forwarded-For: " +
		strings.Repeat("1.1.1.1, ", 3000) + "\r\n",
	"GET / HTTP/1.1\r\nHost: HOST\r\nHeadgate-ASN: x\r\nHeadgate-Country: " +
		"\x01\r\nHeadgate-TLS:\r\n",
	"GET / HTTP/1.1\r\nHost: " +
		"HOST\r\nX-Original-URI:\r\nX-Forwarded-Uri:\r\nX-Original-Method:\r\nX-Forwarded-Method:\r\n",
	"GET / HTTP/1.1\r\nHost: HOST\r\nExpect: x\r\n",
	"GET / HTTP/1.1\r\nHost: HOST\r\nConnection: host, x-original-uri, x-forwarded-uri, close\r\n",
	"GET / HTTP/1.1\r\nHost: HOST\r\nA B: c\r\n",
	"GET / HTTP/1.1\r\nHost: HOST\r\nX-A: b\r\n c\r\n",
	"GET / HTTP/1.1\r\nHost: HOST\r\nno colon\r\n",
	"POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 5\r\n",
	"POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n",
	"POST / HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: x\r\n",
	"GET /?" + strings.Repeat("x", 5000) + " HTTP/1.1\r\nHost: HOST\r\n",
	"GET /?" + strings.Repeat("x", 30_000) + " HTTP/1.1\r\nHost: HOST\r\n",
	"GET /" + strings.Repeat("%41", 1500) + " HTTP/1.1\r\nHost: HOST\r\n",
	"GET /?" + strings.Repeat("a&", 300) + " HTTP/1.1\r\nHost: HOST\r\n",
	"GET / HTTP/1.1\r\nHost: HOST\r\n" + strings.Repeat("Accept: a\r\n", 130),
	"GET / HTTP/1.1\r\nHost: HOST\r\n" + strings.Repeat("A: a\r\n", 1000),
	"GET / HTTP/1.1\r\nHost: HOST\r\nAccept: " + strings.Repeat("a", 9000) + "\r\n",
	"GET / HTTP/1.1\r\nHost: HOST\r\n" +
		strings.Repeat("Accept: "+strings.Repeat("a", 7000)+"\r\n", 4),
	"GET / HTTP/1.1\r\nHost: HOST\r\n" +
		strings.Repeat("X-A: "+strings.Repeat("a", 7000)+"\r\n", 130),
	"GET / HTTP/1.1\r\nHost: HOST\r\nCookie: " + strings.Repeat("c=d; ", 300) + "\r\n",
	"GET / HTTP/1.1\r\nHost: HOST\r\nCookie: c=" + strings.Repeat("%", 5000) + "\r\n",
	"GET / HTTP/1.1\r\nHost: HOST\r\nCookie: " + strings.Repeat("c=%%%%%%; ", 700) + "\r\n",
}

// TestFrontOddRequestsDenied: where every request is denied, no spelling of one is served.
func TestFrontOddRequestsDenied(t *testing.T) {
	eachFront(t, func(t *testing.T, f front) {
		if !f.whole {
			return
		}
		n := startFrontNode(t, oddRules)
		s := f.before(t, f.looking(), n.at(f, patient)...)
		for _, request := range oddRequests {
			seen := s.served.Load()
			if status := s.raw(request); s.served.Load() > seen {
				t.Errorf("%.60q: %d, served %d times", request, status, s.served.Load()-seen)
			}
		}
	})
}

// looking returns the edits by which f sends all headers that the policies of these tests look at.
func (f front) looking() []edit {
	if f.snippet == "openresty" {
		return []edit{
			{
				`-- headers = {"X-Api-Key", "X-Tenant"},`,
				`headers = {"X-Api-Key", "User-Agent", "Cookie", "Content-Type", "Accept"},`,
			},
		}
	}
	return nil
}

// evilRules deny who sends a word, and need the word to be found.
const evilRules = `
rules: []
policies:
  - {name: agents, match: {header.user-agent: evil}, deny: 403}
  - {name: types, match: {header.content-type: evil}, deny: 403}
  - {name: keys, match: {header.x-api-key: evil}, deny: 403}
  - {name: accepts, match: {header.accept: evil}, deny: 403}
  - {name: sessions, match: {cookie.session: evil}, deny: 403}
`

// evilHeaders each hold the word where it has to be found, or have more than a proxy can show: then
// they are unfit.
var evilHeaders = []struct {
	name, head string
	unfit      bool
}{
	{"plain", "User-Agent: evil\r\n", false},
	{"behind a tab", "User-Agent:\tevil\r\n", false},
	{"among blanks and tabs", "User-Agent: \t evil\t \r\n", false},
	{"of a header with a meaning of its own", "Content-Type: evil\r\n", false},
	{"in the second header of its name", "X-Api-Key: good\r\nX-Api-Key: evil\r\n", false},
	{"in the last of 60", strings.Repeat("Accept: good\r\n", 60) + "Accept: evil\r\n", false},
	{"in the last of 130", strings.Repeat("Accept: good\r\n", 130) + "Accept: evil\r\n", true},
	{"in a cookie", "Cookie: a=b; session=evil\r\n", false},
	{
		"behind 1,024 bytes of a cookie",
		"Cookie: a=" + strings.Repeat("b", 1100) + "; session=evil\r\n", false,
	},
	{
		"behind 4,096 bytes of cookies",
		"Cookie: " + strings.Repeat("a="+strings.Repeat("b", 600)+"; ", 8) + "session=evil\r\n",
		false,
	},
	{"in the second line of cookies", "Cookie: a=b\r\nCookie: session=evil\r\n", false},
	{"in the 100th cookie", "Cookie: " + strings.Repeat("a=b; ", 99) + "session=evil\r\n", false},
	{"in the 300th cookie", "Cookie: " + strings.Repeat("a=b; ", 299) + "session=evil\r\n", true},
	{
		"behind a cookie of 5,000 bytes",
		"Cookie: a=" + strings.Repeat("b", 5000) + "; session=evil\r\n", true,
	},
	{
		"behind a header of 5,000 bytes",
		"Referer: " + strings.Repeat("r", 5000) + "\r\nCookie: session=evil\r\n", false,
	},
}

// TestFrontEvilHeaders: a policy by a header or a cookie holds wherever among a request's headers
// the value stands.
func TestFrontEvilHeaders(t *testing.T) {
	eachFront(t, func(t *testing.T, f front) {
		if !f.whole {
			return
		}
		n := startFrontNode(t, evilRules)
		s := f.before(t, f.looking(), n.at(f, patient)...)
		for _, c := range evilHeaders {
			const begin = "GET / HTTP/1.1\r\nHost: HOST\r\n"
			if status := s.raw(begin + strings.ReplaceAll(c.head, "evil", "fine")); !c.unfit &&
				status != http.StatusOK {
				t.Errorf("%s: without it %d", c.name, status)
			}
			want := []int{http.StatusForbidden}
			if c.unfit {
				// 400 is the proxy's own
				want = append(want, append(f.unfit, http.StatusBadRequest)...)
			}
			if status := s.raw(begin + c.head); !slices.Contains(want, status) {
				t.Errorf("%s: %d, want one of %v", c.name, status, want)
			}
		}
		if served := int(s.served.Load()); served > len(evilHeaders) {
			t.Errorf("the site served %d", served)
		}
	})
}
