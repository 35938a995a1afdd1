//go:build !race

// Hundreds of connections, one after another: under the race detector they take half a minute.

package http

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What differs from run to run in an answer: the date, a ticket or a lease, the rest of a window.
var (
	answerDate   = regexp.MustCompile(`Date: [^\r]*`)
	answerNumber = regexp.MustCompile(`\b[0-9a-f]{16}\b`)
	digits       = regexp.MustCompile(`\d+`)
	answerRest   = regexp.MustCompile(`;t=\d+|"(reset|retry_after)":\d+|Retry-After: \d+`)
)

// oddLines are request lines that readers of URIs and of versions take in different ways.
var oddLines = []string{
	"GET /v1/check?rule=login&key=a HTTP/1.2",
	"GET /v1/check?rule=login&key=a HTTP/2.0",
	"GET /v1/check?rule=login&key=a HTTP/1",
	"GET /v1/check?rule=login&key=a HTTP/1.10",
	"GET /v1/check?rule=login&key=a http/1.1",
	"GET /v1/check?rule=login&key=a",
	"GET /v1/check?rule=login&key=a HTTP/1.1 ",
	"GET\t/v1/check?rule=login&key=a HTTP/1.1",
	" GET /v1/check?rule=login&key=a HTTP/1.1",
	"G@T /v1/check?rule=login&key=a HTTP/1.1",
	"GET  HTTP/1.1",
	"GET v1/check?rule=login&key=a HTTP/1.1",
	"GET * HTTP/1.1",
	"OPTIONS * HTTP/1.1",
	"CONNECT h:80 HTTP/1.1",
	"CONNECT /v1/check HTTP/1.1",
	"GET h:80 HTTP/1.1",
	"GET :// HTTP/1.1",
	"GET http:///v1/check?rule=login&key=a HTTP/1.1",
	"GET http://h HTTP/1.1",
	"GET http://h? HTTP/1.1",
	"GET http://h?/v1/check?rule=login&key=a HTTP/1.1",
	"GET HTTPS://u:p@h:8/v1/peek?rule=login&key=a HTTP/1.1",
	"GET 1http://h/v1/check?rule=login&key=a HTTP/1.1",
	"GET ht_tp://h/v1/check?rule=login&key=a " +
		"HTTP/1.1",
	"GET http://[::1]:80/v1/check?rule=login&key=a HTTP/1.1",
	"GET http://[::1/v1/check?rule=login&key=a HTTP/1.1",
	"GET http://h:x/v1/check?rule=login&key=a HTTP/1.1",
	"GET http://a " +
		"b/v1/check?rule=login&key=a HTTP/1.1",
	"GET http://h%zz/v1/check?rule=login&key=a HTTP/1.1",
	"GET http:/v1/check?rule=login&key=a " +
		"HTTP/1.1",
	"GET /v1/check?rule=login&key=http://a/b HTTP/1.1",
	"GET /v1/check?rule=login&key=//a HTTP/1.1",
	"GET //h/v1/check?rule=login&key=a HTTP/1.1",
	"GET ///v1/check?rule=login&key=a HTTP/1.1",
	"GET /v1//check?rule=login&key=a HTTP/1.1",
	"GET /v1/check/?rule=login&key=a HTTP/1.1",
	"GET /v1/./check?rule=login&key=a HTTP/1.1",
	"GET /v1/check/.?rule=login&key=a HTTP/1.1",
	"GET /v1/x/../check?rule=login&key=a HTTP/1.1",
	"GET /v1/check/..?rule=login&key=a HTTP/1.1",
	"GET /../v1/check?rule=login&key=a HTTP/1.1",
	"GET /v1/x/y/../../check?rule=login&key=a HTTP/1.1",
	"GET /v1/check/../peek?rule=login&key=limited HTTP/1.1",
	"GET /%76%31/che%63k?rule=login&key=a HTTP/1.1",
	"GET /v1%2fcheck?rule=login&key=a HTTP/1.1",
	"GET /v1/%2e/check?rule=login&key=a HTTP/1.1",
	"GET /v1/check%?rule=login&key=a HTTP/1.1",
	"GET /v1/check%zz?rule=login&key=a HTTP/1.1",
	"GET /v1/check%00?rule=login&key=a HTTP/1.1",
	"GET /v1/check%3frule=login&key=a HTTP/1.1",
	"GET /v1/check\\?rule=login&key=a HTTP/1.1",
	"GET /v1+check?rule=login&key=a HTTP/1.1",
	"GET /v1/check#a?rule=login&key=a HTTP/1.1",
	"GET /v1/check?#rule=login&key=a HTTP/1.1",
	"GET /v1/check?rule=login&key=a# HTTP/1.1",
	"GET /v1/chek#x HTTP/1.1",
	"GET ?rule=login&key=a HTTP/1.1",
	"GET /v1/check?rule=login&key=a\x01b HTTP/1.1",
	"GET /v1/check?rule=login&key=a\x7f HTTP/1.1",
	"GET /v1/check\x80?rule=login&key=a HTTP/1.1",
	"GET /v1/check?rule=login&key=é HTTP/1.1",
	"GET /v1/check;a=b?rule=login&key=a HTTP/1.1",
	"GET /V1/CHECK?rule=login&key=a HTTP/1.1",
	"PATCH /v1/check?rule=login&key=a HTTP/1.1",
	"OPTIONS /v1/check?rule=login&key=a HTTP/1.1",
	"POST /v1/check?rule=login&key=a HTTP/1.1",
	"POST /v1/count?rule=login&key=a HTTP/1.1",
	"HEAD /v1/check?rule=login&key=limited HTTP/1.1",
	"HEAD /v1/chek HTTP/1.1",
	"HEAD /v1/check HTTP/1.1",
	"HEAD /v1/check?rule=login&key=a HTTP/1.0",
	"DELETE /v1/chek HTTP/1.1",
	"GET /v1/chek HTTP/1.0",
	"HEAD /v1/check?rule=login&key=a HTTP/3.0",
	"GET /v1/ask HTTP/1.1",
	"GET /v1/load?pool=p&utilisation=1 HTTP/1.1",
	"GET /v1/check?rule=login&key=a&x=" + strings.Repeat("x", 4064) + " HTTP/1.1",
	"DELETE /v1/chek?x=" + strings.Repeat("x", 4090) + " HTTP/1.1",
}

// oddHosts are hosts that readers of URIs may object to.
var oddHosts = []string{
	"", "h:80", "h:", "h:x", ":80", "[::1]", "[::1]:80", "[::1]x", "[::1", "::1", "a b", "a@b",
	"u:p@h", "h/x", "h?x", "h#x",
	"%41", "%zz", "é", "a_b", "a,b", "a\"b", "<h>", "h\\x", "[fe80::1%25en0]",
	"[fe80::1%en0]", "a;b", "a:1:2",
	"xn--a", "*", "a%2fb", "{h}", "a|b", "a^b", "`", "a!$&'()*+=b",
}

// lastHeaders are what a connection ends or stays open by.
var lastHeaders = []string{
	"",
	"Connection: close\r\n",
	"Connection: keep-alive\r\n",
	"Connection: te, close\r\n",
	"Expect: 100-continue\r\n",
	"Content-Length: 0\r\n",
	"Content-Length: 1\r\n",
	"Transfer-Encoding: chunked\r\n",
	"Headgate-Accept: delay, " +
		"deceive\r\n",
	"Sec-Fetch-Site: cross-site\r\n",
}

// recordedChecks are requests to a door that answers by the key.
func recordedChecks() (raws []string) {
	for _, bad := range slices.Concat(badQueries, badRequests, badBodies, badJSON, ambiguousLengths,
		oddNames) {
		raws = append(raws, bad.raw, okRequest+bad.raw+okRequest)
	}
	for _, line := range slices.Concat(quickLines, oddLines) {
		raws = append(raws, line+"\r\nHost: h\r\n\r\n"+okRequest)
	}
	for _, host := range oddHosts {
		raws = append(raws,
			"GET /v1/check?rule=login&key=limited HTTP/1.1\r\nHost: "+host+"\r\n\r\n"+okRequest)
		raws = append(raws, "GET http://"+host+"/v1/check?rule=login&key=limited "+
			"HTTP/1.1\r\nHost: h\r\n\r\n"+okRequest)
	}
	raws = append(raws, slices.Sorted(maps.Values(cutBodies))...)
	for _, header := range smuggled {
		raws = append(raws,
			"GET /v1/check?rule=login&key=a HTTP/1.1\r\nHost: h\r\n"+header+"\r\n\r\n"+okRequest)
	}
	for _, version := range []string{"1.0", "1.1"} {
		for _, header := range lastHeaders {
			for _, line := range []string{
				"GET /v1/check?rule=login&key=shed", "POST /v1/count?rule=login&key=a",
				"HEAD /v1/peek?rule=per-ip&key=shadowed", "GET /v1/count?rule=none&key=a",
			} {
				raws = append(raws, line+" HTTP/"+version+"\r\nHost: h\r\n"+header+"\r\n"+okRequest)
			}
			posted := rawCheck(`{"rule":"login","key":"blocked"}`)
			raws = append(raws,
				strings.Replace(posted, "1.1\r\n", version+"\r\n"+header, 1)+okRequest)
		}
	}
	const batch = `{"checks":[{"rule":"login","key":"limited"},{"rule":"per-ip","key":"shed","cost":3}]}`
	for _, path := range []string{"/v1/check", "/v1/peek", "/v1/count", "/v1/check?status=403"} {
		one := post(path, jsonType, `{"rule":"login","key":"limited"}`)
		raws = append(raws, post(path, jsonType, batch)+okRequest, one+okRequest)
	}
	chunked := "POST /v1/check HTTP/1.1\r\nHost: h\r\nContent-Type: " +
		"application/json\r\nTransfer-Encoding: chunked\r\n"
	for _, rest := range []string{
		"\r\n1a\r\n" + oneCheckBody + "\r\n0\r\n\r\n",
		"Expect: 100-continue\r\n\r\n1a\r\n" + oneCheckBody + "\r\n0\r\nX: y\r\n\r\n",
		"\r\n1a\r\n" + oneCheckBody + "\r\n0\r\nX y\r\n\r\n",
	} {
		raws = append(raws, chunked+rest+okRequest)
	}
	large := post("/v1/check", jsonType, strings.Repeat(" ", 30000)+oneCheckBody)
	return append(raws, large+okRequest, "\r\n\r\n"+okRequest, "", "G", "GET / HTTP/1.1\r\n")
}

// recordedAsks are requests to a door with policies.
func recordedAsks() (raws []string) {
	for _, c := range authProfiles {
		raws = append(raws, c.raw, c.raw+okRequest)
	}
	for _, line := range slices.Concat(quickLines, oddLines) {
		raws = append(raws,
			strings.Replace(line, "/check", "/auth/envoy/login", 1)+"\r\nHost: h\r\n\r\n")
	}
	for _, version := range []string{"1.0", "1.1"} {
		for _, header := range lastHeaders {
			for _, path := range []string{
				"/v1/auth/nginx", "/v1/auth/forward",
				"/v1/auth/envoy/.env", "/v1/auth/none",
			} {
				raws = append(raws, "GET "+path+" HTTP/"+version+"\r\nHost: h\r\nX-Original-URI: "+
					"/.env\r\n"+
					"X-Forwarded-Uri: /login\r\nX-Forwarded-Method: POST\r\n"+header+"\r\n"+
					okRequest)
			}
		}
	}
	for _, path := range []string{
		"/v1/ask", "/v1/report", "/v1/acquire", "/v1/release", "/v1/renew", "/v1/settle",
		"/v1/load",
	} {
		for _, body := range []string{
			`{"path":"/login","method":"POST"}`, `{"path":"/.env"}`,
			`{"path":"/login","status":401}`,
			`{"requests":[{"path":"/"},{"path":"/.env"}]}`, `{"requests":[{"path":"/"},{"x":1}]}`,
			`{"rule":"places","key":"k"}`, `{"rule":"login","key":"k","delta":-1}`,
			`{"rule":"places","key":"k","lease":"0123456789abcdef"}`,
			`{"pool":"db","utilisation":0.5}`, `{"pool":"none","utilisation":0.5}`, "{", "\"\xff\"",
		} {
			raws = append(raws, post(path, jsonType, body))
		}
		raws = append(raws, post(path, "", "{}"))
		for _, query := range []string{
			"", "?rule=places&key=k", "?rule=login&key=k&delta=-1", "?rule=none&key=k",
			"?rule=places&key=k&lease=0123456789abcdef", "?pool=db&utilisation=0.4",
			"?path=/login&status=401", "?path=/login&status=4", "?a=b",
		} {
			for _, method := range []string{"GET", "HEAD", "POST", "PUT"} {
				raws = append(raws, method+" "+path+query+" HTTP/1.1\r\nHost: h\r\n\r\n")
			}
		}
	}
	return append(raws, rawGet("/v1/check?rule=places&key=k"), rawGet("/v1/peek?rule=places&key=k"),
		rawCheck(`{"checks":[{"rule":"places","key":"k"}]}`),
		strings.Repeat(rawGet("/v1/acquire?rule=places&key=k"), 3))
}

const recordedPolicies = askPolicies + `
  - {name: places, match: {path: "/places"}, key: all, kind: concurrency, limit: 2, lease: 1h}
pools: [{name: db}]
`

// TestAnswersAsRecorded holds the answers to hundreds of requests, most of them odd, to their bytes.
func TestAnswersAsRecorded(t *testing.T) {
	var all strings.Builder
	record := func(h *Door, raw string) {
		got := answerDate.ReplaceAll(answersTo(t, h, []byte(raw)), []byte("Date: (now)"))
		got = answerNumber.ReplaceAll(got, []byte("(number)"))
		got = answerRest.ReplaceAllFunc(got, func(b []byte) []byte {
			return digits.ReplaceAll(b, []byte("(n)"))
		})
		fmt.Fprintf(&all, "=== %.200q\n%s\n", raw, got)
	}
	for _, raw := range recordedChecks() {
		record(newDoor(newFakeDecider(), testLimits()), raw)
	}
	for _, raw := range recordedAsks() {
		h, _ := doorOf(t, recordedPolicies)
		record(h, raw)
	}
	compareGolden(t, "recorded", []byte(all.String()))
}
