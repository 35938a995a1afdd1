package policy

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/headgate-dev/headgate/edge/policy/condition"
	"github.com/headgate-dev/headgate/edge/policy/sets"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/mitigation"
)

// site is the example of the documentation, as far as this version has it.
func site(tb testing.TB) *Engine {
	tb.Helper()
	sets := []Set{
		{Name: "office", Kind: CIDR, Nets: []netip.Prefix{
			netip.MustParsePrefix("192.0.2.0/24"),
			netip.MustParsePrefix("2001:db8:1::/48"),
		}},
		{Name: "bots", Kind: Values, Entries: []sets.Entry{
			{Value: "curl/*"},
			{Value: "python-requests/*"},
		}},
		{Name: "tenants", Kind: Table, Entries: []sets.Entry{
			{Value: "k-gold", Word: "gold"},
			{Value: "k-free", Word: "free"},
		}},
	}
	login := limit("login", term(tb, "path", "/login", "/token", "/reset"))
	login.CountWhen = condition.All(term(tb, "path", "/login"), term(tb, "method", "POST"),
		term(tb, "status", "401"))
	api := limit("api", condition.All(term(tb, "host", "api.example.com"),
		term(tb, "path", "/v2/**")))
	api.Key = keyOf(tb, "raw(header.x-api-key)@tenants | client")
	api.Own = []mitigation.Rule{{Name: "api@free"}, {Name: "api@gold"}}
	api.Tiers = &Tiers{
		Of:    condition.Field{Kind: condition.Header, Name: "x-api-key"},
		Table: "tenants", Default: "free", Names: []string{"free", "gold"},
	}
	return engine(tb, sets,
		Policy{Name: "ours", Match: term(tb, "client", "@office"), SkipAll: true},
		Policy{Name: "scanners", Match: term(tb, "path", "/wp-admin/**", "/.env"), Deny: 403},
		Policy{Name: "payments", Match: term(tb, "path", "/v1/charges/**"), Tier: "critical"},
		login, api,
	)
}

func TestEvaluate(t *testing.T) {
	e := site(t)
	cases := []struct {
		name, method, url, client string
		headers                   []string
		want                      string
	}{
		{"an exempt office", "GET", "example.com/wp-admin/", "192.0.2.9", nil, "skip by ours"},
		{
			"an exempt office over IPv6", "GET", "example.com/login", "2001:db8:1:2::3", nil,
			"skip by ours",
		},
		{
			"a scanner", "GET", "example.com/wp-admin/setup.php", "203.0.113.7", nil,
			"deny 403 by scanners",
		},
		{
			"a scanner that hides", "GET", "example.com/x/..//%2eenv", "203.0.113.7", nil,
			"deny 403 by scanners",
		},
		{"not quite a scanner", "GET", "example.com/wp-administrator", "203.0.113.7", nil, ""},
		{"a tier", "POST", "example.com/v1/charges/7", "203.0.113.7", nil, "tier critical"},
		{
			"a way in that never counts", "GET", "example.com/reset", "203.0.113.7", nil,
			`login "203.0.113.7", looks only`,
		},
		{
			"a way in that may count", "POST", "example.com/login", "203.0.113.7", nil,
			`login "203.0.113.7", looks only, later`,
		},
		{
			"a network of IPv6", "GET", "example.com/token", "2001:db8:5:6:7::8", nil,
			`login "2001:db8:5:6::/64", looks only`,
		},
		{
			"a tenant", "GET", "api.example.com/v2/x", "203.0.113.7",
			[]string{"X-API-Key: k-gold"},
			`api@gold "k-gold"`,
		},
		{
			"a made-up tenant", "GET", "API.example.com:443/v2", "203.0.113.7",
			[]string{"x-api-key: k-gild"},
			`api@free "203.0.113.7"`,
		},
		{"another host", "GET", "www.example.com/v2/x", "203.0.113.7", nil, ""},
	}
	out := new(Result)
	for _, c := range cases {
		e.Evaluate(ask(t, e, c.method, c.url, c.client, c.headers...), out)
		if got := outcome(e, out); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// What counts by the response counts by ticket and by the request again, and not otherwise.
func TestResponse(t *testing.T) {
	e := site(t)
	out := new(Result)
	r := ask(t, e, "POST", "example.com/login", "203.0.113.7")
	e.Evaluate(r, out)
	pending := out.Questions[0].Pending
	for status, want := range map[int]bool{401: true, 200: false, 403: false} {
		r.Status = status
		e.Report(r, out)
		if got := outcome(e, out); (got == `login "203.0.113.7", counts only`) != want {
			t.Errorf("reported with %d: got %s", status, got)
		}
		counts, cost, _ := e.settles.Settle(pending, 0, r)
		if counts != want || want && cost != 1 {
			t.Errorf("settled with %d: got %v, %d", status, counts, cost)
		}
	}
	r = ask(t, e, "GET", "example.com/login", "203.0.113.7")
	r.Status = 401
	if e.Report(r, out); out.N != 0 {
		t.Errorf("a GET that is no attempt counts: %s", outcome(e, out))
	}
}

// A test of the request and one of the response in one term: the first is kept for the second.
func TestPendingHoldsTheRequest(t *testing.T) {
	p := limit("odd", nil)
	p.CountWhen = condition.Any(condition.All(term(t, "path", "/a"), term(t, "status", "4xx")),
		condition.All(condition.Not(term(t, "method", "GET")), term(t, "status", "500-599")))
	e := engine(t, nil, p)
	out := new(Result)
	for _, c := range []struct {
		method, path string
		status       int
		want         bool
	}{
		{"GET", "/a", 404, true},
		{"GET", "/b", 404, false},
		{"POST", "/b", 502, true},
		{"GET", "/a", 502, false},
		{"POST", "/a", 200, false},
	} {
		r := ask(t, e, c.method, "h"+c.path, "192.0.2.1")
		e.Evaluate(r, out)
		if out.N != 1 || !out.Questions[0].Later || out.Questions[0].Counts {
			t.Fatalf("got %s", outcome(e, out))
		}
		pending := out.Questions[0].Pending
		after := ask(t, e, "", "x/", "") // a ticket has nothing of the request
		after.Status = c.status
		if got, _, _ := e.settles.Settle(pending, 0, after); got != c.want {
			t.Errorf("%v: settled to %v", c, got)
		}
		r.Status = c.status
		if e.Report(r, out); (out.N == 1 && out.Questions[0].Counts) != c.want {
			t.Errorf("%v: reported to %s", c, outcome(e, out))
		}
	}
}

func TestOrderOfPolicies(t *testing.T) {
	group := func(p Policy) Policy { p.Group = "g"; return p }
	mode := func(p Policy, m mitigation.Mode) Policy { p.Mode = m; return p }
	path := func(text string) *condition.Expr { return term(t, "path", text) }
	cases := []struct {
		name     string
		policies []Policy
		want     string
	}{
		{
			"of a group the first asks",
			[]Policy{
				group(limit("narrow", path("/x"))),
				group(limit("wide", nil)), limit("other", nil),
			},
			`narrow "192.0.2.1"; other "192.0.2.1"`,
		},
		{"skip takes out below", []Policy{
			{Name: "s", Match: path("/x"), Skip: []string{"a"}},
			limit("a", nil), limit("b", nil),
		}, `b "192.0.2.1"`},
		{"skip all ends", []Policy{
			limit("a", nil),
			{Name: "s", Match: path("/x"), SkipAll: true},
			{Name: "d", Deny: 403},
		}, "skip by s"},
		{"deny ends", []Policy{
			limit("a", nil),
			{Name: "d", Match: path("/x"), Deny: 451},
			{Name: "s", SkipAll: true},
		}, "deny 451 by d"},
		{"deny in shadow", []Policy{
			mode(Policy{Name: "d", Deny: 403}, mitigation.Shadow),
			limit("a", nil),
		}, `shadow; a "192.0.2.1"`},
		{"skip in shadow", []Policy{
			mode(Policy{Name: "s", SkipAll: true}, mitigation.Shadow),
			limit("a", nil),
		}, `a "192.0.2.1"`},
		{"off", []Policy{
			mode(Policy{Name: "d", Deny: 403}, mitigation.Off),
			mode(limit("a", nil), mitigation.Off),
		}, ""},
		{
			"a limit in shadow",
			[]Policy{mode(limit("a", nil), mitigation.Shadow)},
			`a "192.0.2.1", in shadow`,
		},
		{
			"a tier that is noted above",
			[]Policy{
				limit("before", term(t, "tier", "gold")),
				{Name: "t", Match: path("/x"), Tier: "gold"},
				limit("after", term(t, "tier", "gold")),
			},
			`tier gold; after "192.0.2.1"`,
		},
	}
	out := new(Result)
	for _, c := range cases {
		e := engine(t, nil, c.policies...)
		e.Evaluate(ask(t, e, "GET", "h/x", "192.0.2.1"), out)
		if got := outcome(e, out); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// Two equal questions are one, and past the sixteenth they are counted.
func TestQuestionsAreBounded(t *testing.T) {
	s := &Spec{}
	for i := range 20 {
		p := limit(string(rune('a'+i)), nil)
		s.Policies = append(s.Policies, p)
	}
	again := Policy{
		Name: "again", Rules: []string{"a", "b"}, Key: DefaultKey(),
		Cost: DefaultCost(0),
	}
	s.Policies = append(s.Policies[:2:2], append([]Policy{again}, s.Policies[2:]...)...)
	e := load(t, s)
	out := new(Result)
	e.Evaluate(ask(t, e, "GET", "h/", "192.0.2.1"), out)
	if out.N != MaxQuestions || out.Dropped != 4 || string(out.Questions[2].Name) != "c" {
		t.Errorf("%d questions, %d dropped: %s", out.N, out.Dropped, outcome(e, out))
	}
}

// TestLimitsGoBeforeCounts: of a request that asks too much the questions are left out that only
// count, whichever spelling of the path asks them, and no ticket is given for those.
func TestLimitsGoBeforeCounts(t *testing.T) {
	var all []Policy
	for i := range MaxQuestions {
		p := limit(fmt.Sprint("count", i), term(t, "path", "/elsewhere"))
		p.CountWhen = term(t, "status", "401")
		all = append(all, p)
	}
	for i := range MaxQuestions + 1 {
		all = append(all, limit(fmt.Sprint("limit", i), term(t, "path", "/api")))
	}
	e, out := engine(t, nil, all...), new(Result)
	for path, name := range map[string]string{
		"/": "count", "/x": "count", "/api": "limit", "/x%2F..%2Fapi": "limit",
	} {
		e.Evaluate(ask(t, e, "GET", "h"+path, "192.0.2.1"), out)
		counts := name == "count"
		for i, q := range out.Questions[:out.N] {
			if string(q.Name) != fmt.Sprint(name, i) || string(q.Key) != "192.0.2.1" ||
				q.Judges == counts {
				t.Errorf("%s: question %d: %+v", path, i, q)
			}
		}
		if out.N != MaxQuestions || (out.Dropped == 0) != counts || out.Later != counts {
			t.Errorf("%s: %d questions, %d left out, waits %t", path, out.N, out.Dropped, out.Later)
		}
	}
}

// TestSpellingsHideNoLimit: where only the two readings of a path together ask too much the request
// is unfit; where a single one does, by the configuration, the first limits hold.
func TestSpellingsHideNoLimit(t *testing.T) {
	var all []Policy
	for at, limits := range []int{10, 7, 17} {
		area := "abc"[at : at+1]
		for i := range limits {
			all = append(all, limit(fmt.Sprint(area, i), term(t, "path", "/"+area+"/**")))
		}
	}
	e := engine(t, nil, all...)
	for path, want := range map[string]request.Unfit{
		"/a/x": 0, "/b/x": 0, "/a/..%2F..%2Fb/x": request.UnfitTarget, "/a/x%2Fy": 0,
		"/d/..%2F..%2Fb/x": 0, "/c/x": 0, "/c/x%2Fy": 0, "/c/..%2F..%2Fa/x": request.UnfitTarget,
	} {
		r := ask(t, e, "GET", "h"+path, "192.0.2.1")
		if e.Evaluate(r, new(Result)); r.Unfit != want {
			t.Errorf("%s: unfit %d, want %d", path, r.Unfit, want)
		}
	}
}

func TestCost(t *testing.T) {
	for _, c := range []struct {
		cost  Cost
		query string
		want  uint32
		bad   int
	}{
		{Cost{Fixed: 7}, "", 7, 0},
		{Cost{Of: condition.Field{Kind: condition.Query, Name: "n"}, Max: 10}, "n=3", 3, 0},
		{Cost{Of: condition.Field{Kind: condition.Query, Name: "n"}, Max: 10}, "n=11", 10, 0},
		{
			Cost{Of: condition.Field{Kind: condition.Query, Name: "n"}, Max: 10},
			"n=99999999999999999999999999", 10, 1,
		},
		{Cost{Of: condition.Field{Kind: condition.Query, Name: "n"}, Max: 10}, "n=0", 1, 0},
		{Cost{Of: condition.Field{Kind: condition.Query, Name: "n"}, Max: 10}, "n=-3", 10, 1},
		{Cost{Of: condition.Field{Kind: condition.Query, Name: "n"}, Max: 10}, "n=", 10, 1},
		{Cost{Of: condition.Field{Kind: condition.Query, Name: "n"}, Max: 10}, "n=3&n=3", 10, 1},
		{
			Cost{Of: condition.Field{Kind: condition.Query, Name: "n"}, Max: 10},
			"n=00000000000000000003", 3, 0,
		},
		{
			Cost{Of: condition.Field{Kind: condition.Query, Name: "n"}, Max: 10},
			"n=000000000000000000003", 10, 1,
		},
		{
			Cost{Of: condition.Field{Kind: condition.Query, Name: "n"}, Max: 10},
			"n=99999999999999999999", 10, 0,
		},
		{Cost{Of: condition.Field{Kind: condition.Query, Name: "n"}, Max: 10}, "n=+3", 10, 1},
		{Cost{Of: condition.Field{Kind: condition.Query, Name: "n"}, Max: 10}, "n=3.0", 10, 1},
		{Cost{Of: condition.Field{Kind: condition.Query, Name: "n"}, Max: 10}, "m=3", 1, 0},
		{Cost{Of: condition.Field{Kind: condition.Response, Name: "x-cost"}, Max: 10}, "", 1, 0},
	} {
		p := limit("a", nil)
		p.Cost = c.cost
		e := engine(t, nil, p)
		out := new(Result)
		r := ask(t, e, "GET", "h/?"+c.query, "192.0.2.1")
		e.Evaluate(r, out)
		if got := out.Questions[0]; got.Cost != c.want || out.BadCosts != c.bad ||
			got.Later != c.cost.later() {
			t.Errorf("%+v of %q: cost %d, bad %d, later %v", c.cost, c.query, got.Cost,
				out.BadCosts, got.Later)
		}
		if c.cost.later() {
			r.AddResponse([]byte("X-Cost"), []byte("8"))
			if counts, cost, _ := e.settles.Settle(out.Questions[0].Pending, 0, r); !counts ||
				cost != 8 {
				t.Errorf("settled to %v, %d", counts, cost)
			}
		}
	}
}
