package http

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
)

const askPolicies = `
rules: []
policies:
  - {name: scanners, match: {path: "/.env"}, deny: 451}
  - name: login
    match: {path: "/login"}
    count_when: {path: "/login", method: POST, status: 401}
    limit: 2
    window: 1m
  - {name: keys, match: {host: api.example.com, header.x-api-key: true}, key: raw(header.x-api-key), limit: 1, window: 1m}
  - {name: far, match: {country: NZ}, limit: 3, window: 1m}
`

// askDoor returns a door with policies.
func askDoor(t testing.TB) (*Door, *gate.Gate) {
	t.Helper()
	return doorOf(t, askPolicies)
}

// doorOf returns a door with the policies of a configuration.
func doorOf(t testing.TB, text string) (*Door, *gate.Gate) {
	t.Helper()
	g, room := gatetest.Policies(t, 1<<20, text)
	return New(g, room, g.Lane(0)), g
}

// TestAuthOfACrowd: a denial says about how many clients a block would deny, in its head and its
// body.
func TestAuthOfACrowd(t *testing.T) {
	h, g := doorOf(t,
		`policies: [{name: partner, match: {}, key: host, limit: 1, window: 1m, action: block, block_for: 10m, max_blast: 20}]`)
	gatetest.Crowd(t, g, "partner", "h.example")
	got := string(answersTo(t, h, []byte(rawRequest("GET /v1/auth/forward HTTP/1.1", "Host: h",
		"X-Forwarded-Uri: /", "X-Forwarded-Host: h.example", "X-Forwarded-For: 203.0.113.7"))))
	if !regexp.MustCompile(`(?s)\r\nHeadgate-Why: shed\r\n.*\r\nHeadgate-Blast: [2-9]\d\r\n.*"why":"shed".*"blast":[2-9]\d[,}]`).MatchString(got) {
		t.Error(got)
	}
}

// TestAuthOnDeny: a quiet policy's answers name no rule and no numbers, its denials have its status
// and body; a proxy that can pretend is told to, and a visitor's word for that is not believed from
// elsewhere.
func TestAuthOnDeny(t *testing.T) {
	h, _ := doorOf(t, `
rules: []
policies:
  - {name: quiet, match: {path: "/quiet"}, limit: 1, window: 1m, on_deny: {status: 503, announce: false, body: later}}
  - {name: trap, match: {path: "/trap"}, limit: 1, window: 1m, on_deny: {deceive: true}}
`)
	ask := func(path string, more ...string) string {
		lines := append([]string{
			"GET /v1/auth/forward HTTP/1.1", "Host: h",
			"X-Forwarded-Uri: " + path,
		}, more...)
		got := string(answersTo(t, h, []byte(rawRequest(lines...))))
		head, rest, _ := strings.Cut(got, "\r\nDate: ")
		_, rest, _ = strings.Cut(rest, "\r\n")
		return head + "|" + strings.ReplaceAll(rest, "\r\n", "|")
	}
	for _, tt := range []struct{ got, want string }{
		{ask("/quiet"), "HTTP/1.1 200 OK|Content-Length: 0|Headgate-Verdict: allow||"},
		{
			ask("/quiet"), "HTTP/1.1 503 Service Unavailable|Content-Length: 5|Content-Type: " +
				"text/plain; charset=utf-8|Headgate-Verdict: deny|Headgate-Why: " +
				"limit|Headgate-Status: 503||later",
		},
		{ask("/trap"), "HTTP/1.1 200 OK|Content-Length: 0|RateLimit-Policy: " +
			"\"trap\";q=1;w=60|RateLimit: \"trap\";r=0;t=60|Headgate-Verdict: " +
			"allow|Headgate-Rule: trap|Headgate-View: node||"},
		{
			ask("/trap", "Headgate-Accept: delay, deceive"),
			"HTTP/1.1 200 OK|Content-Length: 0|Headgate-Verdict: allow|Headgate-Deceive: 1||",
		},
	} {
		if tt.got != tt.want {
			t.Errorf("got  %s\nwant %s", tt.got, tt.want)
		}
	}
}

// request writes lines as the head of a request.
func rawRequest(lines ...string) string { return strings.Join(lines, "\r\n") + "\r\n\r\n" }

var ticketHeader = regexp.MustCompile(`Headgate-Ticket: ([0-9a-f]{16})\r\n`)

const nginxRequest, forwardRequest, siteHost = "GET /v1/auth/nginx HTTP/1.1",
	"GET /v1/auth/forward HTTP/1.1", "Host: www.example.com"

var authProfiles = []struct {
	name, raw string
	status    string
	has       []string
}{
	{
		"nginx allows", rawRequest(nginxRequest, siteHost, "X-Original-URI: /a"), "200 OK",
		[]string{"Headgate-Verdict: allow", "Headgate-Why: none", "Content-Length: 0"},
	},
	{
		"nginx denies with 403", rawRequest(nginxRequest, siteHost, "X-Original-URI: /.env?x"),
		"403 Forbidden",
		[]string{
			"Headgate-Verdict: deny", "Headgate-Why: policy", "Headgate-Status: 451",
			"Headgate-Policy: scanners",
		},
	},
	{
		"nginx without a path", rawRequest(nginxRequest, siteHost), "400 Bad Request",
		[]string{"X-Original-URI is missing"},
	},
	{
		"a ticket", rawRequest(nginxRequest, siteHost, "x-original-url: /login",
			"X-Original-Method: POST"), "200 OK",
		[]string{
			"Headgate-Ticket: ", "RateLimit: \"login\";r=1;t=0",
			"RateLimit-Policy: \"login\";q=2;w=60", "Headgate-Rule: login",
		},
	},
	{
		"forward denies with the policy's status",
		rawRequest(forwardRequest, siteHost, "X-Forwarded-Uri: /.env"),
		"451 Unavailable For Legal Reasons",
		[]string{"Headgate-Why: policy", "Headgate-Status: 451"},
	},
	{
		"forward by its host", rawRequest(forwardRequest, siteHost, "X-Forwarded-Uri: /",
			"X-Forwarded-Host: API.example.com:443", "X-API-Key: k"), "200 OK",
		[]string{"Headgate-Rule: keys"},
	},
	{
		"nginx ignores a forwarded host",
		rawRequest(nginxRequest, siteHost, "X-Original-URI: /", "X-Forwarded-Host: api.example.com",
			"X-API-Key: k"), "200 OK",
		[]string{"Headgate-Why: none"},
	},
	{
		"envoy by the request itself",
		rawRequest("DELETE /v1/auth/envoy/.env HTTP/1.1", siteHost), "451 ", nil,
	},
	{
		"envoy's root", rawRequest("GET /v1/auth/envoy HTTP/1.1", siteHost), "200 OK",
		[]string{"Headgate-Why: none"},
	},
	{
		"a country",
		rawRequest(nginxRequest, siteHost, "X-Original-URI: /", "Headgate-Country: NZ"),
		"200 OK",
		[]string{"Headgate-Rule: far"},
	},
	{
		"the host of ingress-nginx", rawRequest(nginxRequest, siteHost, "X-Original-URL: "+
			"https://API.example.com:8443/v2?a=http://b/", "X-API-Key: k"), "200 OK",
		[]string{"Headgate-Rule: keys"},
	},
	{
		"a visitor's own path behind ingress-nginx's", rawRequest(nginxRequest, siteHost,
			"X-Original-URL: https://www.example.com/login", "X-Original-URI: /a"), "200 OK",
		[]string{"Headgate-Rule: login"},
	},
	{
		"a visitor's own path behind nginx's", rawRequest(nginxRequest, siteHost,
			"X-Original-URI: /login", "X-Original-URL: https://other/a"), "200 OK",
		[]string{"Headgate-Rule: login"},
	},
	{
		"a visitor's own path that is none",
		rawRequest(nginxRequest, siteHost, "X-Original-URI: /login", "X-Original-URL: nowhere"),
		"200 OK",
		[]string{"Headgate-Rule: login"},
	},
	{
		"a visitor's own host through envoy", rawRequest("GET /v1/auth/envoy/a HTTP/1.1",
			"Host: api.example.com", "X-Original-URL: https://other/a", "X-API-Key: k"), "200 OK",
		[]string{"Headgate-Rule: keys"},
	},
	{"no URL", rawRequest(nginxRequest, "Host: api.example.com", "X-Original-URI: "+
		"/to?http://other/", "X-API-Key: k"), "200 OK", []string{"Headgate-Rule: keys"}},
	{
		"a visitor's host that is none",
		rawRequest(nginxRequest, "Host: a@b", "X-Original-URI: /login"), "200 OK",
		[]string{"Headgate-Rule: login"},
	},
	{
		"a visitor's long host", rawRequest(forwardRequest, siteHost,
			"X-Forwarded-Host: "+strings.Repeat("h", 300), "X-Forwarded-Uri: /login"), "200 OK",
		[]string{"Headgate-Rule: login"},
	},
	{"a visitor's odd header", rawRequest(nginxRequest, siteHost, "X-Original-URI: /login",
		"X-Other: a\x01b"), "200 OK", []string{"Headgate-Rule: login"}},
	{
		"a visitor's odd header that a policy looks at",
		rawRequest(nginxRequest, "Host: api.example.com", "X-Original-URI: /", "X-API-Key: a\x01b"),
		"200 OK",
		[]string{"Headgate-Rule: keys"},
	},
	{
		"a visitor's long odd header",
		rawRequest(nginxRequest, siteHost, "X-Original-URI: /login",
			"X-Other: \x01"+strings.Repeat("k", 9000)+"\x01"), "200 OK",
		[]string{"Headgate-Rule: login"},
	},
	{"no number", rawRequest(nginxRequest, siteHost, "X-Original-URI: /login",
		"Headgate-ASN: many"), "200 OK", []string{"Headgate-Rule: login"}},
	{"no profile", rawRequest("GET /v1/auth/other HTTP/1.1", siteHost), "404 ", nil},
	{
		"HTTP/1.0 ends", rawRequest("GET /v1/auth/nginx HTTP/1.0", siteHost, "X-Original-URI: /a"),
		"200 OK",
		[]string{"Connection: close"},
	},
	{"a HEAD has no body", rawRequest("HEAD /v1/auth/forward HTTP/1.1", siteHost,
		"X-Forwarded-Uri: /.env"), "451 ", []string{"Content-Length: 1"}},
	{
		"a path without a slash", rawRequest(forwardRequest, siteHost, "X-Forwarded-Uri: .env"),
		"451 ", nil,
	},
	{
		"a header that does not fit",
		rawRequest(nginxRequest, siteHost, "X-Original-URI: /",
			"X-API-Key: "+strings.Repeat("k", 9000)), "431 ",
		[]string{"Headgate-Verdict: deny", "Headgate-Why: unfit"},
	},
	{
		"no Host at all", rawRequest(nginxRequest, "X-Original-URI: /login"), "200 OK",
		[]string{"Headgate-Rule: login"},
	},
	{
		"a target without a path",
		rawRequest(nginxRequest, siteHost, "X-Original-URI: http://a?x"),
		"200 OK",
		[]string{"Headgate-Why: none"},
	},
	{
		"an empty target", rawRequest(nginxRequest, siteHost, "X-Original-URI:"), "200 OK",
		[]string{"Headgate-Why: none"},
	},
	{"an odd content type", rawRequest(nginxRequest, siteHost, "X-Original-URI: /login",
		"Content-Type: \x01"), "200 OK", []string{"Headgate-Rule: login"}},
	{"an odd connection", rawRequest(nginxRequest, siteHost, "X-Original-URI: /login",
		"Connection: \x01\xff", "Expect: \x00"), "200 OK", []string{"Headgate-Rule: login"}},
	{"a method of any bytes", rawRequest(nginxRequest, siteHost, "X-Original-URI: /.env",
		"X-Original-Method: \x01(\xff"), "403 ", []string{"Headgate-Status: 451"}},
	{
		"an odd method through envoy",
		rawRequest("G@T\x01 /v1/auth/envoy/.env HTTP/1.1", siteHost), "451 ", nil,
	},
	{
		"a blank in a target", rawRequest("GET /v1/auth/envoy/.env? b HTTP/1.1", siteHost), "451 ",
		nil,
	},
	{
		"a visitor's method behind",
		rawRequest(nginxRequest, siteHost, "X-Original-URI: /.env", "X-Original-URI: /"), "403 ",
		nil,
	},
	{"a line that is no header", rawRequest(nginxRequest, siteHost, "X-Original-URI: /.env",
		"what is this"), "403 ", []string{"Headgate-Status: 451", "Connection: close"}},
	{"a name that is no token", rawRequest(nginxRequest, siteHost, "X-Original-URI: /.env",
		"a(b: c"), "403 ", []string{"Connection: close"}},
	{
		"a line that goes on",
		rawRequest(nginxRequest, siteHost, "X-Original-URI: /.env", " more: c"),
		"403 ",
		[]string{"Connection: close"},
	},
	{
		"two Hosts", rawRequest(nginxRequest, siteHost, "X-Original-URI: /", "Host: b"), "431 ",
		[]string{"Headgate-Verdict: deny", "Headgate-Why: unfit", "Connection: close"},
	},
	{"two lengths", rawRequest(nginxRequest, siteHost, "X-Original-URI: /", "Content-Length: 0",
		"Content-Length: 0"), "431 ", []string{"Headgate-Why: unfit", "Connection: close"}},
	{"a length of no digits", rawRequest(nginxRequest, siteHost, "X-Original-URI: /",
		"Content-Length: +1"), "431 ", []string{"Connection: close"}},
	{"another encoding", rawRequest(nginxRequest, siteHost, "X-Original-URI: /",
		"Transfer-Encoding: \x01"), "431 ", []string{"Connection: close"}},
	{
		"130 headers nobody looks at",
		rawRequest(append([]string{forwardRequest, siteHost},
			append(slices.Repeat([]string{"Accept: a"}, 130), "X-Forwarded-Uri: /.env")...)...),
		"451 ",
		nil,
	},
	{
		"128 headers that a policy looks at",
		rawRequest(append([]string{forwardRequest, siteHost, "X-Forwarded-Uri: /.env"},
			slices.Repeat([]string{"X-API-Key: a"}, 127)...)...), "451 ", nil,
	},
	{
		"129 of them, and its path behind",
		rawRequest(append([]string{forwardRequest, siteHost},
			append(slices.Repeat([]string{"X-API-Key: a"}, 129), "X-Forwarded-Uri: /")...)...),
		"431 ",
		[]string{"Headgate-Why: unfit"},
	},
	{
		"a path that does not fit", rawRequest(forwardRequest, siteHost,
			"X-Forwarded-Uri: /"+strings.Repeat("k", 9000)), "414 ",
		[]string{"Headgate-Verdict: deny", "Headgate-Why: unfit"},
	},
	{
		"a visitor's second path that does not fit",
		rawRequest(forwardRequest, siteHost, "X-Forwarded-Uri: /.env",
			"X-Forwarded-Uri: /"+strings.Repeat("k", 9000)), "451 ", nil,
	},
	{"a line that does not fit", rawRequest("GET /v1/auth/envoy/"+strings.Repeat("k",
		9000)+" HTTP/1.1", siteHost), "414 ", []string{"Headgate-Why: unfit"}},
	{
		"more headers than are read",
		rawRequest(append([]string{nginxRequest, siteHost, "X-Original-URI: /"},
			slices.Repeat([]string{"Accept: " + strings.Repeat("k", 900)}, 100)...)...), "431 ",
		[]string{"Headgate-Why: unfit", "Connection: close"},
	},
	{"a host that does not fit", rawRequest(nginxRequest, "Host: "+strings.Repeat("h", 9000),
		"X-Original-URI: /"), "431 ", []string{"Headgate-Why: unfit"}},
	{"a header nobody looks at", rawRequest(nginxRequest, siteHost, "X-Original-URI: /",
		"X-Other: "+strings.Repeat("k", 9000)), "200 OK", nil},
}

func TestAuthProfiles(t *testing.T) {
	for _, c := range authProfiles {
		t.Run(c.name, func(t *testing.T) {
			h, _ := askDoor(t)
			got := string(answersTo(t, h, []byte(c.raw)))
			if !strings.Contains(strings.SplitN(got, "\r\n", 2)[0]+" ", c.status) {
				t.Errorf("answered %q, want %s", got, c.status)
			}
			for _, want := range c.has {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in %q", want, got)
				}
			}
			if _, body, _ := strings.Cut(got, "\r\n\r\n"); strings.HasPrefix(c.raw, "HEAD") &&
				body != "" {
				t.Errorf("body %q", body)
			}
		})
	}
}

// Requests of one connection keep apart, whichever path answers them.
func TestAuthAmongOthers(t *testing.T) {
	h, _ := askDoor(t)
	one := rawRequest("GET /v1/auth/forward HTTP/1.1", "X-Forwarded-Uri: /.env", "Host: a")
	other := rawRequest("GET /v1/check?rule=login&key=k HTTP/1.1",
		"X-Forwarded-Uri: /.env", "Host: a")
	body := `{"path":"/.env"}`
	posted := "POST /v1/ask HTTP/1.1\r\nHost: a\r\nContent-Type: " +
		"application/json\r\nContent-Length: 16\r\n\r\n" + body
	got := string(answersTo(t, h, []byte(one+other+posted+one)))
	var statuses []string
	for _, line := range strings.Split(got, "\r\n") {
		if i := strings.Index(line, "HTTP/1.1 "); i >= 0 {
			statuses = append(statuses, line[i+9:i+12])
		}
	}
	if strings.Join(statuses, " ") != "451 200 451 451" {
		t.Errorf("answered %v: %q", statuses, got)
	}
}

func TestReportsOverHTTP(t *testing.T) {
	h, g := askDoor(t)
	login := rawRequest("GET /v1/auth/nginx HTTP/1.1", "Host: a", "X-Original-URI: /login",
		"X-Original-Method: POST", "X-Forwarded-For: 203.0.113.7")
	for k := range 3 {
		got := answersTo(t, h, []byte(login))
		if denied := bytes.Contains(got, []byte("403 Forbidden")); denied != (k == 2) {
			t.Fatalf("attempt %d: %s", k, got)
		}
		if k == 2 {
			break
		}
		ticket := string(ticketHeader.FindSubmatch(got)[1])
		report := rawRequest("GET /v1/report?ticket="+ticket+"&status=401&ms=0.2 HTTP/1.1",
			"Host: a")
		if got := string(answersTo(t, h, []byte(report+report))); strings.Count(got,
			"204 No Content") != 2 || strings.Count(got, "Headgate-Late: 1") != 1 {
			t.Fatalf("reported: %q", got)
		}
	}
	// The gate sees "pipe" clients as trusted: a unix socket is.
	if n := g.Offered(g.Now(), []byte("login"), []byte("203.0.113.7")); n != 2 {
		t.Errorf("%d counted, want 2", n)
	}
	again := rawRequest("GET /v1/report?path=/login&method=POST&status=401&client=203.0.113.8 "+
		"HTTP/1.1", "Host: a")
	if got := string(answersTo(t, h, []byte(again))); !strings.Contains(got, "204 ") {
		t.Fatalf("%q", got)
	}
	if n := g.Offered(g.Now(), []byte("login"), []byte("203.0.113.8")); n != 1 {
		t.Errorf("%d counted, want 1", n)
	}
}

// TestUnfitAsks: what is too long or too many is a denial of that request alone.
func TestUnfitAsks(t *testing.T) {
	h, _ := askDoor(t)
	long := `"path":"/` + strings.Repeat("a", 8192) + `"`
	for _, tt := range []struct{ body, status, want string }{
		{`{` + long + `}`, "414 ", `{"verdict":"deny","why":"unfit","status":414}`},
		{
			`{"requests":[{"path":"/"},{` + long +
				`},{"path":"","host":"a b","asn":"x","method":"(\u0001"}]}`, "200 ",
			`{"results":[{"verdict":"allow","why":"none"},{"verdict":"deny","why":"unfit","status":414},{"verdict":"allow","why":"none"}]}`,
		},
	} {
		raw := "POST /v1/ask HTTP/1.1\r\nHost: a\r\nContent-Type: " +
			"application/json\r\nConnection: close\r\nContent-Length: " +
			"" + strconv.Itoa(len(tt.body)) + "\r\n\r\n" + tt.body
		got := string(answersTo(t, h, []byte(raw)))
		if !strings.HasPrefix(got, "HTTP/1.1 "+tt.status) || !strings.Contains(got, tt.want) {
			t.Errorf("%.60s: %s", tt.body, got)
		}
	}
}

// A header that frames a request is one that policies may look at.
func TestFramingHeadersAreLookedAt(t *testing.T) {
	h, _ := doorOf(t, `policies:
  - {name: type, match: {header.content-type: "text/*"}, deny: 415}
  - {name: conn, match: {header.connection: "x"}, deny: 416}
  - {name: expect, match: {header.expect: "y"}, deny: 417}
  - {name: host, match: {header.host: "H"}, deny: 418}`)
	for header, want := range map[string]string{
		"Content-Type: \ttext/plain ": "415", "Connection: x": "416", "Expect: y": "417",
		"Content-Type: a": "418",
	} {
		raw := rawRequest(forwardRequest, "Host: H", "X-Forwarded-Uri: /", header)
		if got := string(answersTo(t, h, []byte(raw))); !strings.Contains(got,
			"Headgate-Status: "+want) {
			t.Errorf("%s: %s", header, got)
		}
	}
}

// A request that is at fault is never counted.
func TestFaultyRequestsCountNothing(t *testing.T) {
	post := func(path, body string) string {
		return "POST " + path + " HTTP/1.1\r\nHost: a\r\nContent-Type: " +
			"application/json\r\nConnection: close\r\nContent-Length: " +
			"" + strconv.Itoa(len(body)) + "\r\n\r\n" + body
	}
	for _, raw := range []string{
		post("/v1/ask", `{"host":"a"}`), post("/v1/ask",
			`{"path":"/login","path":"/"}`), post("/v1/ask", `{"path":"/login","colour":"red"}`),
		post("/v1/ask", `{"path":"/login","client":"x"}`), post("/v1/ask",
			`{"requests":[{"path":"/login"},{}]}`),
		post("/v1/ask", `{"requests":[]}`), post("/v1/ask", `{"path":7`), post("/v1/ask",
			``), post("/v1/report", `{"path":"/login"}`),
		post("/v1/report", `{"ticket":"x","status":401}`),
		rawRequest("GET /v1/ask?path=/login HTTP/1.1", "Host: a"),
		rawRequest("GET /v1/report?status=401 HTTP/1.1", "Host: a"),
		rawRequest("GET /v1/report?path=/login&status=41 HTTP/1.1", "Host: a"),
		rawRequest("GET /v1/report?path=%2&status=401 HTTP/1.1", "Host: a"),
		rawRequest("GET /v1/report?path=/login&path=/&status=401 HTTP/1.1", "Host: a"),
		rawRequest("GET /v1/report?ticket=0123456789abcdef&status=401&status=200 HTTP/1.1",
			"Host: a"),
	} {
		h, g := askDoor(t)
		got := string(answersTo(t, h, []byte(raw)))
		if !strings.HasPrefix(got, "HTTP/1.1 4") {
			t.Errorf("%q: %q", raw, got)
		}
		for _, f := range g.Figures() {
			if f.Totals.Offered() != 0 {
				t.Errorf("%q was counted: %+v", raw, f)
			}
		}
		if h.Stats().Refused != 1 {
			t.Errorf("%q: %+v", raw, h.Stats())
		}
	}
}

// FuzzAuth: whatever the head is, there is one answer to it at most, and it is well formed.
func FuzzAuth(f *testing.F) {
	f.Add("nginx", "X-Original-URI: /login\r\nX-API-Key: k")
	f.Add("forward", "X-Forwarded-Uri: /%zz\r\nX-Forwarded-For: 1.2.3.4, x")
	f.Add("envoy/a?b", "Headgate-ASN: 7")
	h, _ := askDoor(f)
	f.Fuzz(func(t *testing.T, path, headers string) {
		if strings.ContainsAny(path, " \r\n") || strings.Contains(headers, "\n\r\n") ||
			strings.Contains(headers, "\n\n") {
			return
		}
		got := string(answersTo(t, h, []byte("GET /v1/auth/"+path+" HTTP/1.1\r\nHost: "+
			"a\r\nConnection: close\r\n"+headers+"\r\n\r\n")))
		if !strings.HasPrefix(got, "HTTP/1.") || !strings.Contains(got, "Connection: close") {
			t.Errorf("%q %q: %q", path, headers, got)
		}
	})
}

// TestReportsWithoutResponse: a status of 499, 0 or -1 leaves the request's place taken, whatever
// carries it.
func TestReportsWithoutResponse(t *testing.T) {
	const login = `rules: []
policies: [{name: login, match: {path: /login}, count_when: {path: /login, status: 401}, limit: 1, window: 1h}]`
	for _, c := range []struct {
		status string
		free   bool
	}{{"499", false}, {"0", false}, {"-1", false}, {"200", true}} {
		for _, body := range []bool{false, true} {
			h, _ := doorOf(t, login)
			ask := func() []byte {
				return answersTo(t, h, []byte(rawRequest("GET /v1/auth/nginx HTTP/1.1", "Host: a",
					"X-Original-URI: /login", "X-Original-Method: POST")))
			}
			ticket := string(ticketHeader.FindSubmatch(ask())[1])
			report := rawRequest("GET /v1/report?ticket="+ticket+"&status="+c.status+" HTTP/1.1",
				"Host: a")
			if body {
				report = post("/v1/report", jsonType,
					`{"ticket":"`+ticket+`","status":`+c.status+`}`)
			}
			if got := string(answersTo(t, h, []byte(report))); !strings.Contains(got, " 204 ") ||
				strings.Contains(got, "Late") {
				t.Errorf("%s: %q", c.status, got)
			}
			if free := bytes.Contains(ask(), []byte(" 200 ")); free != c.free {
				t.Errorf("%s: free %t", c.status, free)
			}
		}
	}
}
