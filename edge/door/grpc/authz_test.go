package grpc_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
)

const authzMethod = "/envoy.service.auth.v3.Authorization/Check"

// check is a CheckRequest.
func check(source string, http []string, more ...string) string {
	address := ""
	if source != "" {
		address = msg(1, msg(1, msg(1, msg(2, source), num(3, 4711))))
	}
	return msg(1, address, msg(4, msg(2, http...)), strings.Join(more, ""))
}

// get are the fields of an HTTP request.
func get(method, path string, headers ...string) []string {
	all := []string{
		msg(1, "id"), msg(2, method), msg(4, path),
		msg(5, "example.com"), msg(6, "https"),
	}
	for h := range slices.Chunk(headers, 2) {
		all = append(all, msg(3, msg(1, h[0]), msg(2, h[1])))
	}
	return all
}

// authz asks Authorization/Check and returns the answer in words.
func (c *client) authz(message string) string {
	c.t.Helper()
	answer, status := c.receive(c.send(authzMethod, message))
	if status != "0" {
		return "status " + status
	}
	words := ""
	for _, f := range parse(c.t, answer) {
		switch f.number {
		case 1:
			code := uint64(0)
			for _, f := range parse(c.t, f.data) {
				code = f.value
			}
			words += fmt.Sprint(code)
		case 2, 3:
			words += c.responseWords(f.data, f.number == 3)
		}
	}
	return words
}

// responseWords says what an OkHttpResponse or a DeniedHttpResponse says. Headers for the request
// are marked by ^.
func (c *client) responseWords(message string, ok bool) (words string) {
	c.t.Helper()
	for _, f := range parse(c.t, message) {
		switch f.number {
		case 1:
			words += fmt.Sprintf(" %d", parse(c.t, f.data)[0].value)
		case 2, 6:
			header := parse(c.t, parse(c.t, f.data)[0].data)
			mark := ""
			if ok && f.number == 2 {
				mark = "^"
			}
			words += fmt.Sprintf(" %s%s: %s", mark, header[0].data, header[1].data)
		case 3:
			words += " " + strings.TrimSpace(f.data)
		}
	}
	return words
}

const site = `
clients: {trusted: [127.0.0.0/8, 192.0.2.1]}
rules: []
policies:
  - {name: ours, match: {client: 198.51.100.1}, skip: all}
  - {name: scanners, match: {path: "/.env"}, deny: 403}
  - {name: abroad, match: {country: ZZ}, deny: 451}
  - {name: login, match: {path: "/login", method: POST}, key: client, limit: 1, window: 1m}
  - {name: failures, match: {path: "/token"}, count_when: {path: "/token", status: 401}, key: client, limit: 1, window: 1m}
  - {name: teams, match: {header.x-team: true, host: example.com}, key: header.x-team, limit: 3, window: 1h}
  - {name: quiet, match: {path: "/quiet"}, limit: 1, window: 1m, on_deny: {status: 503, announce: false, body: later}}
  - {name: loud, match: {path: "/loud"}, limit: 1, window: 1m, on_deny: {status: 418, body: tea}}
  - {name: trap, match: {path: "/trap"}, limit: 1, window: 1m, on_deny: {deceive: true}}
`

// TestAuthzOfACrowd: a denial says about how many clients a block would deny.
func TestAuthzOfACrowd(t *testing.T) {
	t.Parallel()
	h := open(t, `policies: [{name: partner, match: {}, key: host, limit: 1, window: 1m, action: block, block_for: 10m, max_blast: 20}]`)
	c := h.dial(t)
	gatetest.Crowd(t, h.gate, "partner", "example.com")
	got := c.authz(check("203.0.113.9", get("GET", "/")))
	if !regexp.MustCompile(`^7 429 .* Headgate-Why: shed Headgate-Blast: ([2-9]\d) .*"why":"shed".*"blast":`).MatchString(got) {
		t.Error(got)
	}
}

// TestAuthzOfAShadow: Envoy's access log learns from dynamic_metadata, and nothing else says so.
func TestAuthzOfAShadow(t *testing.T) {
	t.Parallel()
	h := open(t, `policies:
  - {name: never, match: {path: "/.env"}, deny: 403, mode: shadow}
  - {name: dark, match: {}, key: client, limit: 1, window: 1m, mode: shadow}`)
	c := h.dial(t)
	names := func(all ...string) string {
		list := ""
		for _, name := range all {
			list += msg(1, msg(3, name))
		}
		return msg(1) + msg(3) + msg(4, msg(1, msg(1, "shadow_denied"), msg(2, msg(6, list))))
	}
	for _, tt := range []struct{ path, want string }{
		{"/", msg(1) + msg(3)}, {"/", names("dark")}, {"/.env", names("never", "dark")},
	} {
		got, status := c.receive(c.send(authzMethod, check("203.0.113.9", get("GET", tt.path))))
		if got != tt.want || status != "0" {
			t.Errorf("%s: %s %q, want %q", tt.path, status, got, tt.want)
		}
	}
}

// TestAuthz: the policies decide the request that Envoy describes.
func TestAuthz(t *testing.T) {
	t.Parallel()
	h := open(t, site)
	c := h.dial(t)
	extension := func(name, value string) string { return msg(10, msg(1, name), msg(2, value)) }
	login := get("POST", "/login?next=%2F", ":path", "/other")
	for _, tt := range []struct{ name, message, want string }{
		{"nothing matches", check("203.0.113.9", get("GET", "/")), "0"},
		{
			"passes", check("203.0.113.9", login),
			`0 RateLimit-Policy: "login";q=1;w=60 RateLimit: "login";r=0;t=60`,
		},
		{
			"denied", check("203.0.113.9", login),
			`7 429 RateLimit-Policy: "login";q=1;w=60 RateLimit: "login";r=0;t=60 Retry-After: 60 Headgate-Why: limit Content-Type: application/problem+json ` +
				`{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"The limit of this rule is used up","status":429,"verdict":"deny","rule":"login","limit":1,"window":60,"remaining":0,"reset":60,"view":"node","why":"limit","retry_after":60,"violated-policies":["login"]}`,
		},
		{
			"another client", check("203.0.113.8", login),
			`0 RateLimit-Policy: "login";q=1;w=60 RateLimit: "login";r=0;t=60`,
		},
		{
			"its header is not believed",
			check("203.0.113.7", get("POST", "/login", "x-forwarded-for", "198.51.100.1")),
			`0 RateLimit-Policy: "login";q=1;w=60 RateLimit: "login";r=0;t=60`,
		},
		{"a trusted proxy's is", check("192.0.2.1",
			get("POST", "/login", "x-forwarded-for", "198.51.100.1")), "0"},
		{
			"by a policy", check("203.0.113.9", get("GET", "/.env")),
			`7 403 Headgate-Why: policy Content-Type: application/problem+json {"type":"about:blank","title":"Denied by a policy","status":403,"verdict":"deny","why":"policy","policy":"scanners"}`,
		},
		{
			"by an extension", check("203.0.113.9", get("GET", "/"), extension("country", "ZZ")),
			`7 451 Headgate-Why: policy Content-Type: application/problem+json {"type":"about:blank","title":"Denied by a policy","status":451,"verdict":"deny","why":"policy","policy":"abroad"}`,
		},
		{"a quiet policy", check("203.0.113.9", get("GET", "/quiet")), "0"},
		{
			"a quiet denial", check("203.0.113.9", get("GET", "/quiet")),
			"7 503 Content-Type: text/plain; charset=utf-8 later",
		},
		{
			"a policy with a body", check("203.0.113.9", get("GET", "/loud")),
			`0 RateLimit-Policy: "loud";q=1;w=60 RateLimit: "loud";r=0;t=60`,
		},
		{
			"its denial", check("203.0.113.9", get("GET", "/loud")),
			`7 418 RateLimit-Policy: "loud";q=1;w=60 RateLimit: "loud";r=0;t=60 Retry-After: 60 Headgate-Why: limit Content-Type: text/plain; charset=utf-8 tea`,
		},
		{
			"a host that is none",
			check("203.0.113.9", append(get("GET", "/.env"), msg(5, "a b@[:"))),
			`7 403 Headgate-Why: policy Content-Type: application/problem+json {"type":"about:blank","title":"Denied by a policy","status":403,"verdict":"deny","why":"policy","policy":"scanners"}`,
		},
		{"a number that is none", check("203.0.113.9", get("GET", "/"), extension("asn", "x"),
			extension("tier", "")), "0"},
		{
			"a long path", check("203.0.113.9", get("GET", "/"+strings.Repeat("a", 8192))),
			`7 414 Headgate-Why: unfit Content-Type: application/problem+json {"type":"about:blank","title":"Unfit","status":414,"verdict":"deny","why":"unfit"}`,
		},
		{
			"many headers", check("203.0.113.9",
				get("GET", "/", slices.Repeat([]string{"x-team", "red"}, 129)...)),
			`7 431 Headgate-Why: unfit Content-Type: application/problem+json {"type":"about:blank","title":"Unfit","status":431,"verdict":"deny","why":"unfit"}`,
		},
		{
			"an unknown extension", check("203.0.113.9", get("GET", "/"), extension("other", "x")),
			"0",
		},
		{
			"a header of the map", check("", get("GET", "/", "x-team", "red")),
			`0 RateLimit-Policy: "teams";q=3;w=3600 RateLimit: "teams";r=2;t=3600`,
		},
		{
			"a header of the list",
			check("", append(get("GET", "/"), msg(13, msg(1, msg(1, "x-team"), msg(3, "red"))))),
			`0 RateLimit-Policy: "teams";q=3;w=3600 RateLimit: "teams";r=1;t=3600`,
		},
	} {
		if got := c.authz(tt.message); !doortest.SameButRetry(got, tt.want) {
			t.Errorf("%s:\n%s\nwant %s", tt.name, got, tt.want)
		}
	}
	if got := c.authz(check("203.0.113.9", get("GET", "/token"))); !strings.HasPrefix(got,
		"0 ^Headgate-Ticket: ") || len(strings.Fields(got)[2]) != 16 {
		t.Error(got)
	}
}

// TestBadChecks: what describes no request is answered with a status.
func TestBadChecks(t *testing.T) {
	t.Parallel()
	h := open(t, site)
	c := h.dial(t)
	for _, tt := range []struct{ name, message, want string }{
		{"empty", "", "status 3 the call describes no HTTP request"},
		{"no HTTP", msg(1, msg(4)), "status 3 the call describes no HTTP request"},
		{"no protobuf", "\xff", "status 3 the message is not"},
		{"no path", check("", []string{msg(2, "GET")}), "status 3 a field of the request"},
		{"source", check("home", get("GET", "/")), "status 3 a field of the request"},
		{
			"header cut", check("", append(get("GET", "/"), msg(3, "\x0a\x05x"))),
			"status 3 a field of the request",
		},
	} {
		if got := c.authz(tt.message); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	if n := h.door.Stats().Malformed; n != 6 {
		t.Errorf("%d malformed", n)
	}
}

// FuzzCheck: any message is answered, by a status or by an answer that is well formed.
func FuzzCheck(f *testing.F) {
	f.Add([]byte(check("192.0.2.1", get("POST", "/login", "x-forwarded-for", "198.51.100.1"),
		msg(10, msg(1, "asn"), msg(2, "AS7")))))
	f.Add([]byte(check("2001:db8::1",
		append(get("GET", "/token"), msg(13, msg(1, msg(1, "x-team"), msg(3, "red")))))))
	h := open(f, site)
	f.Fuzz(func(t *testing.T, message []byte) {
		c := h.dial(t)
		if got := c.authz(string(message)); !strings.HasPrefix(got, "0") &&
			!strings.HasPrefix(got, "7") && !strings.HasPrefix(got, "status ") {
			t.Error(got)
		}
		_ = c.conn.Close()
		doortest.WaitFor(t, func() bool { return h.door.Stats().Open < 200 })
	})
}
