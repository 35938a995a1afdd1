package grpc_test

import (
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/door/grpc"
)

// TestHeaders: rls.headers says which headers an answer has. Those of envoyproxy/ratelimit show the
// limit with the least left, of limits that are over the last.
func TestHeaders(t *testing.T) {
	t.Parallel()
	h := openTheirs(t)
	c := h.dial(t)
	three := func(v string) string { return describe("foo", v, "bar", "1") }
	one := func(v string) string { return describe("foo", v, "bar", "bkthomps") }
	banned := describe("foo", "x", "bar", "banned")
	for _, tt := range []struct {
		form  string
		parts []string
		want  string
	}{
		{"ratelimit", []string{three("a"), one("a")}, "RateLimit-Limit: 1 RateLimit-Remaining: 0 " +
			"RateLimit-Reset: 60"},
		{"ratelimit", []string{three("b"), describe("foo", "b")}, "RateLimit-Limit: 2 " +
			"RateLimit-Remaining: 1 RateLimit-Reset: 60"},
		{"ratelimit", []string{one("a"), three("a")}, "RateLimit-Limit: 1 RateLimit-Remaining: 0 " +
			"RateLimit-Reset: 60"},
		{"ratelimit", []string{one("a"), banned}, "RateLimit-Limit: 0 RateLimit-Remaining: 0 " +
			"RateLimit-Reset: 60"},
		{"ratelimit", []string{banned, one("a")}, "RateLimit-Limit: 1 RateLimit-Remaining: 0 " +
			"RateLimit-Reset: 60"},
		{"ratelimit", []string{describe("nothing", "x")}, ""},
		{"ratelimit", []string{describe("foo", "x", "bay", "x")}, ""}, // unlimited
		{"x-ratelimit", []string{three("c"), one("c")}, "X-RateLimit-Limit: 1 " +
			"X-RateLimit-Remaining: 0 X-RateLimit-Reset: 60"},
		{"none", []string{three("c"), one("c")}, ""},
		{"none", []string{three("d")}, ""},
		{
			"",
			[]string{one("d")},
			`RateLimit-Policy: "rl.foo.bar_bkthomps";q=1;w=60 RateLimit: "rl.foo.bar_bkthomps";r=0;t=60`,
		},
	} {
		h.door.SetLimitForm(grpc.LimitForm{Headers: tt.form})
		words := c.limit(limits("rl", tt.parts...))
		if got := strings.TrimSpace(words[strings.LastIndex(words, "]")+1:]); got != tt.want {
			t.Errorf("%s of %q: %s, want %s", tt.form, tt.parts, words, tt.want)
		}
	}
}
