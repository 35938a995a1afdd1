package grpc_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/door/doortest"
)

const twoRules = `
rules:
  - {name: login, limit: 5, window: 1m}
  - {name: api, limit: 10, window: 10s}
  - {name: blocked, limit: 1, window: 1h, action: block, block_for: 1h}
  - {name: dry, limit: 1, window: 1h, mode: shadow}
`

// TestRules: an entry rule names a rule, and the other entries are its key.
func TestRules(t *testing.T) {
	t.Parallel()
	h := open(t, twoRules)
	c := h.dial(t)
	want := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	want(c.limit(limits("d", describe("rule", "login", "user", "anna"))),
		`OK [OK login 5/MINUTE left 4 reset 60] RateLimit-Policy: "login";q=5;w=60 RateLimit: "login";r=4;t=60`)
	want(c.limit(limits("d", describe("user", "anna", "rule", "login"),
		describe("rule", "api", "a", "x", "b", "y"))),
		`OK [OK login 5/MINUTE left 3 reset 60] [OK api 10/10SECOND left 9 reset 10] RateLimit-Policy: "login";q=5;w=60, "api";q=10;w=10 RateLimit: "login";r=3;t=60, "api";r=9;t=10`)
	if left := h.left("login", "anna"); left != 3 {
		t.Errorf("a check of the same key has %d left", left)
	}
	if left := h.left("api", "x\x1fy"); left != 9 {
		t.Errorf("a list of values has %d left", left)
	}
	// all or nothing: the one that fits says what it would have without this request
	got := c.limit(limits("d", describe("rule", "login", "user", "anna", "+", msg(3, num(1, 4))),
		describe("rule", "api", "a", "x", "b", "y")))
	want(got, `OVER [OVER login 5/MINUTE left 3 reset 60] [OK api 10/10SECOND left 9 reset 10] `+
		`RateLimit-Policy: "login";q=5;w=60, "api";q=10;w=10 RateLimit: "login";r=3;t=60, "api";r=9;t=10 Retry-After: 60`)
	if login, api := h.left("login", "anna"), h.left("api", "x\x1fy"); login != 3 || api != 9 {
		t.Errorf("a denied request has taken of login %d, of api %d", 3-login, 9-api)
	}
	// hits of the request, of a descriptor, and none
	want(firstStatus(c.limit(limits("d", describe("rule", "api", "k", "1"), num(3, 4)))),
		"OK api 10/10SECOND left 6 reset 10")
	want(firstStatus(c.limit(limits("d", describe("rule", "api", "k", "1", "+", msg(3, num(1, 6))),
		num(3, 4)))), "OK api 10/10SECOND left 0 reset 10")
	want(firstStatus(c.limit(limits("d", describe("rule", "api", "k", "1", "+", msg(3))))),
		"OK api 10/10SECOND left 0 reset 10")
	want(firstStatus(c.limit(limits("d", describe("rule", "api", "k", "1")))),
		"OVER api 10/10SECOND left 0 reset 10")
	// nothing is to come back, and it is said
	want(firstStatus(c.limit(limits("d", describe("rule", "api", "k", "new", "+", msg(3))))),
		"OK api 10/10SECOND left 10 reset 0")
	// a block denies even a look
	for range 2 {
		c.limit(limits("d", describe("rule", "blocked", "k", "1")))
	}
	want(c.limit(limits("d", describe("rule", "blocked", "k", "1", "+", msg(3)),
		describe("rule", "api", "k", "2")))[:4], "OVER")
	if left := h.left("api", "2"); left != 10 {
		t.Errorf("admitted beside a block: %d left", left)
	}
	// shadow
	c.limit(limits("d", describe("rule", "dry", "k", "1")))
	want(firstStatus(c.limit(limits("d", describe("rule", "dry", "k", "1")))),
		"OK")
	// equal descriptors are one question
	want(c.limit(limits("d", describe("rule", "api", "k", "3"), describe("rule", "api", "k", "3"))),
		`OK [OK api 10/10SECOND left 9 reset 10] [OK api 10/10SECOND left 9 reset 10] RateLimit-Policy: "api";q=10;w=10 RateLimit: "api";r=9;t=10`)
}

// firstStatus returns the first status in the words of an answer.
func firstStatus(words string) string {
	_, rest, _ := strings.Cut(words, "[")
	status, _, _ := strings.Cut(rest, "]")
	return status
}

// TestManyDescriptors: each has a status; those beyond the sixteenth question have no limit.
func TestManyDescriptors(t *testing.T) {
	t.Parallel()
	h := open(t, twoRules)
	var all []string
	for n := range 20 {
		all = append(all, describe("rule", "api", "k", fmt.Sprint(n)))
	}
	words := h.dial(t).limit(limits("d", all...))
	if strings.Count(words, "[OK") != 20 || strings.Count(words, "[OK]") != 4 ||
		strings.Count(words, `"api"`) != 8 {
		t.Error(words)
	}
}

// TestBadRequests: a request with a fault in it is answered with its status, and counts nothing.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	h := open(t, twoRules)
	c := h.dial(t)
	good := describe("rule", "api", "k", "1")
	for _, tt := range []struct{ name, message, want string }{
		{"no domain", good, "status 3 the request has no domain"},
		{"no descriptors", limits("d"), "status 3 the request has no descriptors"},
		{"no protobuf", "\xff\xff", "status 3 the message is not"},
		{"cut descriptor", limits("d", good)[:8], "status 3 the message is not"},
		{
			"unknown rule", limits("d", good, describe("rule", "apis", "k", "1")),
			"status 5 no rule is called apis",
		},
		{
			"no key", limits("d", good, describe("rule", "api")),
			"status 3 a descriptor with an entry rule has no other entry",
		},
		{
			"no address", limits("d", good, describe("remote_address", "home")),
			"status 3 an entry has a value",
		},
		{
			"257 descriptors", limits("d", strings.Repeat(good, 257)),
			"status 8 a request has at most 256 descriptors",
		},
		{
			"unit", limits("d", good, describe("k", "v", "+", msg(2, num(1, 5)))),
			"status 3 a descriptor's limit has a unit",
		},
		{
			"unit of a year", limits("d", good,
				describe("k", "v", "+", msg(2, num(1, 5), num(2, 6)))),
			"status 3 a descriptor's limit has a unit",
		},
		{
			"long window", limits("d", good,
				describe("k", "v", "+", msg(2, num(1, 5), num(2, 4), msg(3, num(1, 2))))),
			"status 3 a descriptor's limit has a unit",
		},
	} {
		if got := c.limit(tt.message); !strings.HasPrefix(strings.ReplaceAll(got, "%27", "'"),
			tt.want) {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	if left := h.left("api", "1"); left != 10 {
		t.Errorf("counted: %d left", left)
	}
	if s := h.door.Stats(); s.Malformed != 10 || s.UnknownRule != 1 {
		t.Errorf("%+v", s)
	}
}

// TestTooLong: a message that is longer than is read is denied: a proxy opens on an error, and the
// visitor chooses the length.
func TestTooLong(t *testing.T) {
	t.Parallel()
	for i, rules := range []string{twoRules, site, "rules: [{name: api, limit: 10, window: 1m, " +
		"mode: shadow}]"} {
		h := open(t, rules)
		c := h.dial(t)
		want := map[bool][2]string{false: {"OVER [OVER]", "7 431"}, true: {"OK [OK]", "0"}}[i == 2]
		for _, size := range []int{65_536, 70_000, 130_000} {
			long := strings.Repeat("x", size)
			if got := c.limit(limits("d", describe("k", long))); !strings.HasPrefix(got, want[0]) {
				t.Errorf("%d bytes: %.80s, want %s", size, got, want[0])
			}
			if got := c.authz(check("192.0.2.9", get("GET", "/", "x-team", long))); i > 0 &&
				!strings.HasPrefix(got, want[1]) {
				t.Errorf("%d bytes: %.80s, want %s", size, got, want[1])
			}
		}
		if got := c.limit(limits("d", describe("k", "1"))); !strings.HasPrefix(got, "OK") {
			t.Errorf("and then: %.80s", got)
		}
	}
}

// TestOwnLimits: a descriptor's limit holds for its domain, its keys and its numbers.
func TestOwnLimits(t *testing.T) {
	t.Parallel()
	h := open(t, twoRules)
	c := h.dial(t)
	own := func(per, unit uint64, pairs ...string) string {
		return firstStatus(c.limit(limits("shop",
			describe(append(pairs, "+", msg(2, num(1, per), num(2, unit)))...))))
	}
	began := time.Now()
	for _, tt := range []struct{ got, want string }{
		{own(2, 2, "user", "a"), "OK shop/user 2/MINUTE left 1 reset 60"},
		{own(2, 2, "user", "a"), "OK shop/user 2/MINUTE left 0 reset 60"},
		{own(2, 2, "user", "a"), "OVER shop/user 2/MINUTE left 0 reset 60"},
		{own(2, 2, "user", "b"), "OK shop/user 2/MINUTE left 1 reset 60"},
		{own(9, 2, "user", "a"), "OK shop/user@2 9/MINUTE left 8 reset 60"},
		{own(9, 1, "user", "a", "path", "/x"), "OK shop/user/path 9/SECOND left 8 reset 1"},
		{own(2, 2, "user", "a"), "OVER shop/user 2/MINUTE left 0 reset 60"},
	} {
		if !sameButAge(tt.got, tt.want, time.Since(began)) {
			t.Errorf("%s, want %s", tt.got, tt.want)
		}
	}
	if n := len(h.gate.Rules()); n != 4 {
		t.Errorf("%d rules are listed", n)
	}
	long := strings.Repeat("k", 100) + "é"
	if got := own(3, 2, long, "a"); !strings.HasPrefix(got, "OK shop/kkk") || len(got) > 64+40 {
		t.Error(got)
	}
}

// sameButAge reports whether got is want, but for a reset at its end that is shorter by up to age:
// that of a denial is until the requests before it leave the window.
func sameButAge(got, want string, age time.Duration) bool {
	g, w := strings.LastIndexByte(got, ' ')+1, strings.LastIndexByte(want, ' ')+1
	left, errG := strconv.Atoi(got[g:])
	most, errW := strconv.Atoi(want[w:])
	return got[:g] == want[:w] && errG == nil && errW == nil && left <= most &&
		left >= most-int(age/time.Second)-1
}

// TestPolicies: without a rule or a limit the entries are the fields of a request.
func TestPolicies(t *testing.T) {
	t.Parallel()
	h := open(t, `
rules: []
policies:
  - {name: ours, match: {client: 192.0.2.1}, skip: all}
  - {name: scanners, match: {path: "/.env"}, deny: 403}
  - {name: login, match: {path: "/login", method: POST}, key: client, limit: 2, window: 1m}
  - {name: keys, match: {header.x-team: true}, key: header.x-team, limit: 3, window: 1h}
`)
	c := h.dial(t)
	for _, tt := range []struct {
		parts []string
		want  string
	}{
		{[]string{describe("generic_key", "x")}, "OK [OK]"},
		{[]string{describe("path", "/login?x=1", "method", "POST", "remote_address",
			"198.51.100.7")}, "OK [OK login 2/MINUTE left 1 reset 60]"},
		{[]string{describe("path", "/a/../login", "method", "POST", "masked_remote_address",
			"198.51.100.7/32", "header.X-Team", "red")}, "OK [OK login 2/MINUTE left 0 reset 60]"},
		{[]string{describe("path", "/login", "method", "POST", "remote_address", "198.51.100.7",
			"header.x-team", "red")}, "OVER [OVER login 2/MINUTE left 0 reset 60]"},
		{
			[]string{describe("path", "/login", "method", "POST", "remote_address", "192.0.2.1")},
			"OK [OK]",
		},
		{
			[]string{describe("header.x-team", "red"), describe("path", "/.env")},
			"OVER [OK keys 3/HOUR left 2 reset 3600] [OVER]",
		},
		{
			[]string{
				describe("header.x-team", "red"),
				describe("path", "/login", "method", "POST", "remote_address", "198.51.100.8"),
			},
			"OK [OK keys 3/HOUR left 1 reset 3600] [OK login 2/MINUTE left 1 reset 60]",
		},
		{
			[]string{describe("header.x-team", "red"), num(3, 2)},
			"OVER [OVER keys 3/HOUR left 1 reset 3600]",
		},
	} {
		got, _, _ := strings.Cut(c.limit(limits("d", tt.parts...)), " RateLimit-Policy")
		if !doortest.SameButRetry(got, tt.want) {
			t.Errorf("%q: %s, want %s", tt.parts, got, tt.want)
		}
	}
}

// TestHealth: both services are served.
func TestHealth(t *testing.T) {
	t.Parallel()
	h := open(t, twoRules)
	c := h.dial(t)
	const method = "/grpc.health.v1.Health/"
	for _, tt := range []struct{ method, service, want string }{
		{"Check", "", "\x08\x01 0"},
		{"Check", "envoy.service.ratelimit.v3.RateLimitService", "\x08\x01 0"},
		{"Check", "envoy.service.auth.v3.Authorization", "\x08\x01 0"},
		{"Check", "other", " 5 no such service"},
		{"Watch", "", " 12 headgate does not have this method"},
	} {
		message := ""
		if tt.service != "" {
			message = msg(1, tt.service)
		}
		answer, status := c.receive(c.send(method+tt.method, message))
		if got := answer + " " + status; got != tt.want {
			t.Errorf("%s of %q: %q, want %q", tt.method, tt.service, got, tt.want)
		}
	}
}

// TestNegativeHits: they are taken from what was admitted, and release a place of a concurrency
// limit.
func TestNegativeHits(t *testing.T) {
	t.Parallel()
	h := open(t, twoRules+"  - {name: busy, kind: concurrency, limit: 1}\n")
	c := h.dial(t)
	negative := num(4, 1)
	c.limit(limits("d", describe("rule", "api", "k", "1"), num(3, 7)))
	if got := firstStatus(c.limit(limits("d", describe("rule", "api", "k", "1", "+", negative),
		num(3, 5)))); !strings.HasPrefix(got, "OK api 10/10SECOND left 8") {
		t.Error(got)
	}
	busy := limits("d", describe("rule", "busy", "k", "1"))
	for _, want := range []string{"OK", "OVER", "release", "OK", "OVER"} {
		if want == "release" {
			if got := c.limit(
				limits("d", describe("rule", "busy", "k", "1", "+", negative))); !strings.HasPrefix(
				got, "OK") {
				t.Error(got)
			}
			continue
		}
		if got := c.limit(busy); !strings.HasPrefix(got, want+" ") {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
