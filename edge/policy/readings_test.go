package policy

import (
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/policy/condition"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/mitigation"
)

// The policies hold for the path as sent and for the path decoded.
func TestBothReadings(t *testing.T) {
	path := func(text string) *condition.Expr { return term(t, "path", text) }
	deny := func(text string) Policy { return Policy{Name: "d", Match: path(text), Deny: 403} }
	skip := func(text string) Policy { return Policy{Name: "s", Match: path(text), SkipAll: true} }
	tier := func(text string) Policy { return Policy{Name: "t", Match: path(text), Tier: "gold"} }
	group := func(p Policy) Policy { p.Group = "g"; return p }
	except := limit("except", condition.Not(path("/static/**")))
	fails := limit("fails", nil)
	fails.CountWhen = term(t, "status", "401")
	login := limit("login", path("/login"))
	login.CountWhen = condition.All(path("/login"), term(t, "status", "401"))
	odd := limit("odd", nil)
	odd.CountWhen = condition.Any(condition.All(path("/login"), term(t, "status", "401")),
		term(t, "status", "500"))
	for _, c := range []struct {
		name     string
		policies []Policy
		path     string
		want     string
	}{
		{"a deny of the decoded", []Policy{deny("/login")}, "/%2Flogin", "deny 403 by d"},
		{"a deny of a last slash", []Policy{deny("/login")}, "/login%2f", "deny 403 by d"},
		{"a deny of the sent", []Policy{deny("/login")}, "/x%2F/../login", "deny 403 by d"},
		{
			"a deny of a dotfile",
			[]Policy{limit("a", nil), deny("/.env")},
			"/%2F.env",
			"deny 403 by d",
		},
		{"a deny behind dots", []Policy{deny("/login")}, "/static/..%2Flogin", "deny 403 by d"},
		{
			"a deny beside a skip",
			[]Policy{skip("/static/**"), deny("/login")},
			"/static/..%2Flogin",
			"deny 403 by d",
		},
		{"limits of both", []Policy{
			limit("a", path("/static/**")), limit("b", path("/login")),
			limit("c", nil),
		}, "/static/..%2Flogin", `a "192.0.2.1"; c "192.0.2.1"; b "192.0.2.1"`},
		{
			"a skip of the sent alone",
			[]Policy{limit("a", nil), skip("/static/**")},
			"/static/..%2Flogin", `a "192.0.2.1"`,
		},
		{
			"a skip of the decoded alone",
			[]Policy{limit("a", nil), skip("/login")},
			"/static/..%2Flogin", `a "192.0.2.1"`,
		},
		{
			"a skip of both",
			[]Policy{limit("a", nil), skip("/static/**")},
			"/static/a%2Fb",
			"skip by s",
		},
		{"a tier of one", []Policy{tier("/login"), limit("a", nil)}, "/%2Flogin", `a "192.0.2.1"`},
		{
			"a tier of both",
			[]Policy{tier("/static/**"), limit("a", nil)},
			"/static/a%2Fb",
			`tier gold; a "192.0.2.1"`,
		},
		{
			"of a group each its first",
			[]Policy{
				group(limit("a", path("/static/**"))),
				group(limit("b", path("/login"))), group(limit("c", nil)),
			},
			"/static/..%2Flogin",
			`a "192.0.2.1"; b "192.0.2.1"`,
		},
		{"a not", []Policy{except}, "/static/..%2Flogin", `except "192.0.2.1"`},
		{"a not that holds for neither", []Policy{except}, "/static/a%2Fb", ""},
		{
			"one question that waits",
			[]Policy{fails},
			"/a%2Fb",
			`fails "192.0.2.1", looks only, later`,
		},
		{
			"one that waits in the second",
			[]Policy{login},
			"/%2Flogin",
			`login "192.0.2.1", looks only, later`,
		},
		{
			"two that wait for different things",
			[]Policy{odd},
			"/%2Flogin",
			`odd "192.0.2.1", looks only, later; odd "192.0.2.1", looks only, later`,
		},
		{
			"a text with an escaped slash",
			[]Policy{limit("a", path("/a%2Fb"))},
			"/a/b",
			`a "192.0.2.1"`,
		},
	} {
		e, out := engine(t, nil, c.policies...), new(Result)
		r := ask(t, e, "GET", "h"+c.path, "192.0.2.1")
		sent := string(r.Path)
		if e.Evaluate(r, out); outcome(e, out) != c.want || string(r.Path) != sent {
			t.Errorf("%s: got %s, want %s", c.name, outcome(e, out), c.want)
		}
	}
}

// A policy in shadow, its pools and costs at fault are those of both walks, each once.
func TestBothReadingsOnce(t *testing.T) {
	shadow := Policy{
		Name: "d", Match: term(t, "path", "/login"), Deny: 403,
		Mode: mitigation.Shadow,
	}
	dear := limit("dear", nil)
	dear.Cost = Cost{Of: condition.Field{Kind: condition.Query, Name: "n"}, Max: 10}
	pool := Policy{Name: "pool", Match: term(t, "path", "/login"), Pool: "site"}
	s := &Spec{Clients: request.DefaultClients(), Policies: []Policy{shadow, pool, dear}}
	e, err := Load(s, Options{Rules: ruleNames(s), Pools: []string{"site"}})
	if err != nil {
		t.Fatal(err)
	}
	out := new(Result)
	e.Evaluate(ask(t, e, "GET", "h/%2Flogin?n=x", "192.0.2.1"), out)
	if !out.Shadow || out.Pools.Enforced != 1 || out.BadCosts != 1 ||
		outcome(e, out) != `shadow; dear "192.0.2.1" x10` {
		t.Errorf("got %s, pools %b, %d bad costs", outcome(e, out), out.Pools.Enforced,
			out.BadCosts)
	}
}

// Rules beyond the bound are dropped once.
func TestBothReadingsAreBounded(t *testing.T) {
	var policies []Policy
	for i := range 20 {
		policies = append(policies, limit(string(rune('a'+i)), nil))
	}
	e, out := engine(t, nil, policies...), new(Result)
	e.Evaluate(ask(t, e, "GET", "h/a%2Fb", "192.0.2.1"), out)
	if out.N != MaxQuestions || string(out.Questions[15].Name) != "p" {
		t.Errorf("%d questions: %s", out.N, outcome(e, out))
	}
}

// What a policy's text and a request's path are under the folds of a site.
func TestFolds(t *testing.T) {
	const slash, letters, params, tail = request.FoldSlash, request.FoldCase, request.FoldParams,
		request.FoldTail
	for _, c := range []struct {
		match      *condition.Expr
		folds      request.Folds
		fits, does string // paths that fit, and that do not, separated by blanks
	}{
		{term(t, "path", "/login"), 0, "/login //login", "/login/ /Login"},
		{
			term(t, "path", "/login"), slash, "/login /login/ /login/. /login%2F",
			"/Login /login/x /loginx",
		},
		{term(t, "path", "/login/"), slash, "/login /login/", "/login/x"},
		{term(t, "path", "/login/"), 0, "/login/", "/login"},
		{
			term(t, "path", "/v2/*/orders"), slash, "/v2/7/orders /v2/7/orders/ /v2/7%2Forders",
			"/v2/7/orders/x /v2//orders",
		},
		{term(t, "path", "/v2/*"), slash, "/v2/7 /v2/7/", "/v2 /v2/ /v2/7/8"},
		{term(t, "path", "/v2/*/"), slash, "/v2/7 /v2/7/", "/v2/"},
		{term(t, "path", "/v2/**"), slash, "/v2 /v2/ /v2/x", "/v2x"},
		{
			term(t, "path", "/caf%C3%A9", "/sp ace"), slash, "/caf%c3%a9 /café/ /sp%20ace",
			"/caf%25C3%25A9 /sp+ace",
		},
		{term(t, "path", "/caf%c3%a9/**"), slash, "/caf%C3%A9/x /café", "/cafe"},
		{term(t, "path", "/"), slash, "/ // /.", "/x"},
		{term(t, "path", "/Login"), letters, "/login /LOGIN /%4Cogin", "/login/"},
		{term(t, "path", "~^/Adm.n$"), letters, "/admin /ADMIN /adm%0An", "/admin/"},
		{term(t, "path", "~^/adm.n$"), 0, "/admin /adm%0An", "/ADMIN"},
		{when(t, `path.matches("^/Admin")`), letters, "/admin", "/x"},
		{when(t, `path == "/login"`), slash, "/login /%6Cogin", "/login/"},
		{
			term(t, "path", "/login"), params,
			"/login /login;a=b /a/..;/login /;x/login /login%3Bx",
			"/login/ /a;/login",
		},
		{
			term(t, "path", "/login"), tail, "/login /login. /login%20 /login%2E%2e",
			"/login./ /login.x",
		},
	} {
		clients := request.DefaultClients()
		clients.Folds = c.folds
		e := load(t, &Spec{
			Clients:  clients,
			Policies: []Policy{{Name: "d", Match: c.match, Deny: 403}},
		})
		for i, list := range []string{c.fits, c.does} {
			for _, path := range strings.Fields(list) {
				r, out := new(request.Request), new(Result)
				r.Reset(e.Names())
				r.SetTarget([]byte(path), e.Clients())
				if e.Evaluate(r, out); (out.Verdict == Deny) != (i == 0) {
					t.Errorf("%s with %d: %s fits: %v", c.match.Spelling(), c.folds, path,
						out.Verdict == Deny)
				}
			}
		}
	}
}
