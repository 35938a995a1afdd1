package http

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/door/http/head"
)

// badInput is a request that is wrong in one way.
type badInput struct {
	name, raw, parameter string
	status               int
}

func rawGet(target string) string { return "GET " + target + " HTTP/1.1\r\nHost: h\r\n\r\n" }

func rawCheck(body string) string { return post("/v1/check", jsonType, body) }

var badQueries = []badInput{
	{"no rule", rawGet("/v1/check?key=a"), "rule", 400},
	{"empty rule", rawGet("/v1/check?rule=&key=a"), "rule", 400},
	{"two rules", rawGet("/v1/check?rule=login&key=a&rule=login"), "rule", 400},
	{"unknown rule", rawGet("/v1/check?rule=nobody&key=a"), "rule", 404},
	{"unknown rule, count", rawGet("/v1/count?rule=nobody&key=a"), "rule", 404},
	{"rule with a line break", rawGet("/v1/check?rule=login%0d%0aX:y&key=a"), "rule", 404},
	{"rule badly encoded", rawGet("/v1/check?rule=login%&key=a"), "rule", 400},
	{"no key", rawGet("/v1/check?rule=login"), "key", 400},
	{"bare key", rawGet("/v1/check?rule=login&key"), "key", 400},
	{"empty key", rawGet("/v1/check?rule=login&key="), "key", 400},
	{"long key", rawGet("/v1/check?rule=login&key=" + strings.Repeat("%41", 257)), "key", 400},
	{"two keys", rawGet("/v1/check?key=a&rule=login&key=a"), "key", 400},
	{"key with % alone", rawGet("/v1/check?rule=login&key=a%"), "key", 400},
	{"key with one digit", rawGet("/v1/check?rule=login&key=a%4"), "key", 400},
	{"key with bad digits", rawGet("/v1/check?rule=login&key=%g0"), "key", 400},
	{"key with #", rawGet("/v1/check?rule=login&key=a#b"), "uri", 400},
	{"cost 0", rawGet("/v1/check?rule=login&key=a&cost=0"), "cost", 400},
	{"cost too large", rawGet("/v1/check?rule=login&key=a&cost=1000001"), "cost", 400},
	{"cost overflowing", rawGet("/v1/check?rule=login&key=a&cost=4294967297"), "cost", 400},
	{"cost negative", rawGet("/v1/check?rule=login&key=a&cost=-1"), "cost", 400},
	{"cost with a fraction", rawGet("/v1/check?rule=login&key=a&cost=1.5"), "cost", 400},
	{"cost empty", rawGet("/v1/check?rule=login&key=a&cost="), "cost", 400},
	{"two costs", rawGet("/v1/check?rule=login&key=a&cost=1&cost=1"), "cost", 400},
	{"status 200", rawGet("/v1/check?rule=login&key=a&status=200"), "status", 400},
	{"status in words", rawGet("/v1/check?rule=login&key=a&status=deny"), "status", 400},
	{"two statuses", rawGet("/v1/check?rule=login&key=a&status=429&status=429"), "status", 400},
}

var badRequests = []badInput{
	{"unknown path", rawGet("/v1/chek?rule=login&key=a"), "path", 404},
	{"root", rawGet("/"), "path", 404},
	{
		"PUT", "PUT /v1/check?rule=login&key=a HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n",
		"method", 405,
	},
	{
		"unknown method", "BREW /v1/check?rule=login&key=a HTTP/1.1\r\nHost: h\r\n\r\n", "method",
		405,
	},
	{
		"long target", rawGet("/v1/check?rule=login&key=a&x=" + strings.Repeat("x", 5000)), "uri",
		414,
	},
	{
		"80 KiB of headers", strings.TrimSuffix(okRequest, "\r\n") + cookies(80<<10) + "\r\n",
		"headers", 431,
	},
	{"no host", "GET /v1/check?rule=login&key=a HTTP/1.1\r\n\r\n", "request", 400},
	{"no HTTP", "check login a\r\n\r\n", "request", 400},
	{"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "request", 400},
	{
		"bad length", "POST /v1/check HTTP/1.1\r\nHost: h\r\nContent-Length: -5\r\n\r\n", "request",
		400,
	},
	{"two lengths", "POST /v1/check HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: " +
		"2\r\n\r\n{}", "request", 400},
}

var badBodies = []badInput{
	{
		"form", post("/v1/check", "application/x-www-form-urlencoded", "rule=login&key=a"),
		"content-type", 415,
	},
	{"no type", post("/v1/check", "", `{"rule":"login","key":"a"}`), "content-type", 415},
	{"large body", "POST /v1/check HTTP/1.1\r\nHost: h\r\nContent-Type: " +
		"application/json\r\nContent-Length: 1048577\r\n\r\n" +
		strings.Repeat(" ", 10000), "body", 413},
	{
		"large chunked body", "POST /v1/check HTTP/1.1\r\nHost: h\r\nContent-Type: " +
			"application/json\r\n" +
			"Transfer-Encoding: chunked\r\n\r\n100001\r\n" +
			strings.Repeat(" ", maxHTTPBody+1) + "\r\n", "body", 413,
	},
	{
		"bad chunk", "POST /v1/check HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n" +
			"Transfer-Encoding: chunked\r\n\r\nzz\r\n", "body", 400,
	},
	{
		"rule in both places", post("/v1/check?rule=login", jsonType, `{"rule":"login","key":"a"}`),
		"rule", 400,
	},
	{
		"cost in both places", post("/v1/check?cost=1", jsonType, `{"rule":"login","key":"a"}`),
		"cost", 400,
	},
}

var badJSON = []badInput{
	{"not JSON", rawCheck(`rule=login`), "body", 400},
	{"a list", rawCheck(`[]`), "body", 400},
	{"cut short", rawCheck(`{"rule":"login"`), "body", 400},
	{"trailing comma", rawCheck(`{"rule":"login","key":"a",}`), "body", 400},
	{"two values", rawCheck(`{"rule":"login","key":"a"}{}`), "body", 400},
	{"nought after it", rawCheck("{\"rule\":\"login\",\"key\":\"a\"}\x00"), "body", 400},
	{"not UTF-8", rawCheck("{\"rule\":\"login\",\"key\":\"\xff\"}"), "body", 400},
	{"half a pair", rawCheck(`{"rule":"login","key":"\ud800"}`), "body", 400},
	{"half a pair and a letter", rawCheck(`{"rule":"login","key":"\ud800\u0041"}`), "body", 400},
	{"bad escape", rawCheck(`{"rule":"login","key":"\x"}`), "body", 400},
	{"line break in a string", rawCheck("{\"rule\":\"login\",\"key\":\"a\nb\"}"), "body", 400},
	{"empty object", rawCheck(`{}`), "rule", 400},
	{"JSON without key", rawCheck(`{"rule":"login"}`), "key", 400},
	{"JSON empty key", rawCheck(`{"rule":"login","key":""}`), "key", 400},
	{
		"JSON long key", rawCheck(`{"rule":"login","key":"` + strings.Repeat("k", 257) + `"}`),
		"key", 400,
	},
	{"JSON key a number", rawCheck(`{"rule":"login","key":7}`), "key", 400},
	{"JSON rule null", rawCheck(`{"rule":null,"key":"a"}`), "rule", 400},
	{"JSON two keys", rawCheck(`{"rule":"login","key":"a","key":"b"}`), "key", 400},
	{"JSON cost 0", rawCheck(`{"rule":"login","key":"a","cost":0}`), "cost", 400},
	{"JSON cost 01", rawCheck(`{"rule":"login","key":"a","cost":01}`), "cost", 400},
	{"JSON cost no number", rawCheck(`{"rule":"login","key":"a","cost":"x"}`), "cost", 400},
	{"JSON cost with a fraction", rawCheck(`{"rule":"login","key":"a","cost":1.0}`), "cost", 400},
	{"JSON cost with an exponent", rawCheck(`{"rule":"login","key":"a","cost":1e3}`), "cost", 400},
	{"JSON another case", rawCheck(`{"Rule":"login","key":"a"}`), "Rule", 400},
	{"JSON unknown member", rawCheck(`{"rule":"login","key":"a","\u000d\n<":1}`), "\r\n<", 400},
	{"JSON unknown rule", rawCheck(`{"rule":"nobody","key":"a"}`), "rule", 404},
	{"checks no list", rawCheck(`{"checks":{}}`), "checks", 400},
	{"checks empty", rawCheck(`{"checks":[]}`), "checks", 400},
	{
		"checks twice", rawCheck(`{"checks":[{"rule":"login","key":"a"}],"checks":[]}`), "checks",
		400,
	},
	{
		"checks beside key", rawCheck(`{"checks":[{"rule":"login","key":"a"}],"key":"a"}`),
		"checks", 400,
	},
	{"too many checks", rawCheck(tooManyChecks), "checks", 400},
	{
		"second key missing", rawCheck(`{"checks":[{"rule":"login","key":"a"},{"rule":"login"}]}`),
		"checks[1].key", 400,
	},
	{
		"second rule unknown",
		rawCheck(`{"checks":[{"rule":"login","key":"a"},{"rule":"x","key":"a"}]}`),
		"checks[1].rule", 404,
	},
	{
		"unknown member in a list", rawCheck(`{"checks":[{"rule":"login","key":"a","ttl":1}]}`),
		"checks[0].ttl", 400,
	},
	{"bad syntax in a list", rawCheck(`{"checks":[{"rule":"login","key":"a"},7]}`), "body", 400},
}

var tooManyChecks = `{"checks":[` + strings.Repeat(`{"rule":"login","key":"a"},`,
	mostChecks) + `{"rule":"login","key":"a"}]}`

// unread is a socket that has received so many bytes which nobody has read.
type unread struct {
	discard
	left int
}

func (c *unread) Read(b []byte) (int, error) {
	if c.left == 0 {
		return 0, io.EOF
	}
	n := min(len(b), c.left)
	c.left -= n
	return n, nil
}

// TestHTTPBodyNobodyReads checks that a body which the answer did not wait for, because it was too
// large or of another type, is read before the socket is closed: else it is reset, and many a
// client then reports that and no answer.
func TestHTTPBodyNobodyReads(t *testing.T) {
	t.Parallel()
	for _, left := range []int64{2 * maxHTTPBody, head.Chunked} {
		socket := &unread{left: 2 * maxHTTPBody}
		c := connOn(t, newDoor(newFakeDecider(), testLimits()), socket)
		c.left = left
		if c.end(); socket.left != 0 {
			t.Errorf("ends with %d bytes unread of a body of %d", socket.left, left)
		}
	}
}

// TestHTTPBadInput checks the status, the parameter named, and that nothing reached the gate.
func TestHTTPBadInput(t *testing.T) {
	t.Parallel()
	for _, tt := range slices.Concat(badQueries, badRequests, badBodies, badJSON) {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			j := newFakeDecider()
			d := openDoor(t, j, testLimits())
			checkProblem(t, d.send(t, tt.raw), tt.status, tt.parameter)
			if asked := j.queries(); len(asked) != 0 {
				t.Errorf("the gate was asked %d times: %v", len(asked), asked)
			}
			if s := d.Stats(); s.Refused != 1 {
				t.Errorf("refused %d, want 1", s.Refused)
			}
		})
	}
}

// checkProblem holds a reply to a status, a parameter and the form of a problem.
func checkProblem(t *testing.T, r doortest.Reply, status int, parameter string) {
	t.Helper()
	var p struct {
		Type, Title, Detail, Parameter string
		Status                         int
	}
	if err := json.Unmarshal([]byte(r.Text), &p); err != nil {
		t.Fatalf("%v in %q", err, r.Text)
	}
	if r.StatusCode != status || p.Status != status || p.Parameter != parameter {
		t.Errorf("status %d, %d in the body, parameter %q; want %d, %q: %s",
			r.StatusCode, p.Status, p.Parameter, status, parameter, r.Text)
	}
	if ct := r.Header.Get("Content-Type"); ct != "application/problem+json" {
		t.Errorf("content type %q", ct)
	}
	if want := http.StatusText(status); p.Title != want || p.Type != "about:blank" ||
		!strings.HasPrefix(p.Detail, parameter+" ") {
		t.Errorf("problem %+v", p)
	}
	if allow := r.Header.Get("Allow"); (status == http.StatusMethodNotAllowed) != (allow == "GET, HEAD, POST") {
		t.Errorf("Allow: %q", allow)
	}
}

// TestHTTPShowsLittle checks that a long unknown name is cut before it is shown, and a client's
// words never reach a header.
func TestHTTPShowsLittle(t *testing.T) {
	t.Parallel()
	r := openDoor(t, newFakeDecider(),
		testLimits()).post(t, "/v1/check", fmt.Sprintf(`{"%s":1}`, strings.Repeat("n", 5000)))
	checkProblem(t, r, http.StatusBadRequest, strings.Repeat("n", api.MaxNameShown))
}
