package policy_test

import (
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/edge/policy/condition"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/mitigation"
)

func path(t *testing.T, line int, values ...string) *condition.Expr {
	t.Helper()
	f := condition.Field{Kind: condition.Path}
	var list []condition.Value
	for _, text := range values {
		v, err := condition.ParseValue(f, text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
	return condition.OneOf(condition.Pos{Line: line}, "", f, list)
}

func when(t *testing.T, text string) *condition.Expr {
	t.Helper()
	e, err := condition.ParseWhen(text)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestOf(t *testing.T) {
	deny := policy.Policy{At: condition.Pos{Line: 1}, Deny: 403}
	limit := policy.Policy{At: condition.Pos{Line: 1}, Rules: []string{"r"}}
	skip := policy.Policy{At: condition.Pos{Line: 1}, SkipAll: true}
	off := deny
	off.Mode = mitigation.Off
	plain, slash, raw := request.Clients{}, request.DefaultClients(), request.Clients{Raw: true}
	for _, c := range []struct {
		name    string
		clients request.Clients
		policy  policy.Policy
		match   *condition.Expr
		want    string // of the message
		line    int
	}{
		{"an exact path", plain, deny, path(t, 3, "/login"), "/login/", 3},
		{"of a limit", plain, limit, path(t, 3, "/login"), "/login/", 3},
		{"the second of a list", plain, limit, path(t, 3, "/a/**", "/login"), "/login/", 3},
		{
			"in an any", plain, limit, condition.Any(path(t, 3, "/a/**"), path(t, 4, "/login")),
			"/login/", 4,
		},
		{"in a when", plain, limit, when(t, `path == "/login" || path in sets.x`), "/login/", 1},
		{"with its slash", plain, deny, path(t, 3, "/login", "/login/"), "", 0},
		{"with its slash in another term", plain, deny, condition.Any(path(t, 3, "/login"),
			path(t, 4, "/login/")), "", 0},
		{"with all below", plain, deny, path(t, 3, "/login", "/login/**"), "", 0},
		{"with an expression", plain, deny, path(t, 3, "/login", "~^/login"), "", 0},
		{"the root", plain, deny, path(t, 3, "/"), "", 0},
		{"in a not", plain, deny, condition.Not(path(t, 3, "/login")), "", 0},
		{"a pattern", plain, deny, path(t, 3, "/v2/**"), "", 0},
		{"under slash", slash, deny, path(t, 3, "/login"), "", 0},
		{"of a skip", plain, skip, path(t, 3, "/login"), "", 0},
		{"that is off", plain, off, path(t, 3, "/login"), "", 0},
		{"a skip with an escaped slash", slash, skip, path(t, 3, "/a%2fb"), "%2F", 3},
		{"a deny with an escaped slash", slash, deny, path(t, 3, "/a%2fb"), "", 0},
		{"a raw path", raw, limit, path(t, 3, "~x"), "raw", 3},
		{"a raw path of a skip", raw, skip, path(t, 3, "/a%2Fb"), "", 0},
		{"no path", raw, limit, nil, "", 0},
	} {
		c.policy.Match = c.match
		got := policy.Doubts(&policy.Spec{Clients: c.clients, Policies: []policy.Policy{c.policy}})
		switch {
		case c.want == "" && len(got) > 0:
			t.Errorf("%s: got %v", c.name, got)
		case c.want != "" && (len(got) != 1 || !strings.Contains(got[0].Message, c.want) ||
			got[0].Line != c.line):
			t.Errorf("%s: got %v, want %s on line %d", c.name, got, c.want, c.line)
		}
	}
	both := limit
	both.Match, both.CountWhen = path(t, 2, "/login", "/login/"), path(t, 3, "/login")
	if got := policy.Doubts(&policy.Spec{Policies: []policy.Policy{both}}); len(got) != 1 ||
		got[0].Line != 3 {
		t.Errorf("count_when: got %v", got)
	}
}
