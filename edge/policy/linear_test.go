package policy

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/policy/condition"
	"github.com/headgate-dev/headgate/edge/policy/sets"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/mitigation"
)

// The words that generated policies and requests are made of: few, so that they meet.
var (
	someMethods = []string{"GET", "POST", "PUT", "PROPFIND"}
	someHosts   = []string{
		"example.com", "api.example.com", "a.b.example.com",
		"shop.test", "xexample.com",
	}
	somePaths = []string{
		"/", "/v2", "/v2/", "/v2/users", "/v2/users/7/orders", "/v2/users/7/orders/", "/v2x",
		"/login", "/v1/charges/1", "/caf%C3%A9",
		"/%2Flogin", "/login%2F", "/v2%2Fusers", "/v2/..%2Flogin", "/v2%2F../login",
		"/v2/users/7%2Forders", "/v2%25", "/v1%2Fv2/../login",
	}
	someClients = []string{
		"192.0.2.1", "192.0.2.200", "10.1.2.3", "203.0.113.9", "2001:db8::1",
		"2001:db8:1::9", "::1",
	}
	someValues = []string{"a", "ab", "b", "", "gold"}
)

// terms are the generated conditions, by field.
var someTerms = [][]string{
	{"method", "GET", "POST", "PROPFIND"},
	{
		"host", "example.com", "*.example.com", "*.b.example.com", "api.example.com",
		"shop.test", "*.test",
	},
	{
		"path", "/**", "/v2/**", "/v2", "/v2/*/**", "/v2/users/*/orders", "/login", "/login/",
		"/caf%c3%a9", "/*", "~^/v[0-9]+/", "/v2/users/**",
	},
	{
		"client",
		"192.0.2.0/24",
		"192.0.2.200",
		"192.0.2.1",
		"10.1.0.0/16",
		"10.0.0.0/8",
		"0.0.0.0/0",
		"2001:db8::/32",
		"::/0",
		"@office",
	},
	{"header.x-a", "a", "a*", "~b$", "true", "false", "@words"},
	{"query.q", "a", "a*", "true", "false", "@words"},
	{"cookie.c", "ab", "true", "@words"},
	{"country", "DE", "F*"},
	{"asn", "3320", "100-200"},
	{"tier", "gold", "critical"},
}

func pick(rng *rand.Rand, list []string) string { return list[rng.IntN(len(list))] }

// anyTerm returns a generated term, or one of any, not and when.
func anyTerm(tb testing.TB, rng *rand.Rand, depth int) *condition.Expr {
	switch kind := rng.IntN(12); {
	case depth > 0 && kind == 0:
		return condition.Not(condition.All(anyTerm(tb, rng, depth-1), anyTerm(tb, rng, depth-1)))
	case depth > 0 && kind == 1:
		return condition.Any(anyTerm(tb, rng, depth-1), anyTerm(tb, rng, depth-1))
	case kind == 2:
		return when(tb, fmt.Sprintf(
			`path.startsWith(%q) || header["x-a"] != query["q"] && !(host in ["shop.test", "example.com"])`, pick(rng, somePaths)))
	case kind == 3:
		return when(tb,
			fmt.Sprintf(`method == %q && header["x-a"] >= "ab"`, pick(rng, someMethods)))
	}
	family := someTerms[rng.IntN(len(someTerms))]
	var values []string
	for range 1 + rng.IntN(2) {
		values = append(values, pick(rng, family[1:]))
	}
	return term(tb, family[0], values...)
}

func anyCondition(tb testing.TB, rng *rand.Rand) *condition.Expr {
	var terms []*condition.Expr
	for range rng.IntN(4) {
		terms = append(terms, anyTerm(tb, rng, 2))
	}
	return condition.All(terms...)
}

// anyPolicies returns n generated policies.
func anyPolicies(tb testing.TB, rng *rand.Rand, n int) []Policy {
	var list []Policy
	for i := range n {
		p := limit(fmt.Sprintf("p%d", i), anyCondition(tb, rng))
		p.Mode = []mitigation.Mode{
			mitigation.Enforce, mitigation.Enforce, mitigation.Enforce,
			mitigation.Shadow, mitigation.Off,
		}[rng.IntN(5)]
		switch rng.IntN(16) {
		case 0:
			p.Own, p.SkipAll = nil, true
		case 1:
			p.Own, p.Deny = nil, 403
		case 2:
			p.Own, p.Tier = nil, "critical"
		case 3:
			p.Own, p.Skip = nil, []string{fmt.Sprintf("p%d", i+rng.IntN(n-i))}
		case 4, 5:
			p.CountWhen = anyCondition(tb, rng)
		case 6:
			p.CountWhen = condition.All(anyCondition(tb, rng), term(tb, "status", "4xx"))
		case 7, 8:
			p.Group = pick(rng, []string{"g", "h"})
		}
		if len(p.Own) > 0 && rng.IntN(3) == 0 { // rules that others ask too
			p.Own, p.Rules = nil, [][]string{{"s1"}, {"s2", "s1"}}[rng.IntN(2)]
		}
		p.Key, p.MissingSkip = keyOf(tb, someKeys[rng.IntN(len(someKeys))]...), rng.IntN(2) == 0
		list = append(list, p)
	}
	return list
}

// someKeys are the generated keys; keyText knows them.
var someKeys = [][]string{
	{"client"},
	{"client"},
	{"header.x-a"},
	{"client", "path"},
	{"method", "policy"},
}

// keyText returns the key of r under p, or false where a part is absent and p asks nothing then.
func keyText(e *Engine, p *Policy, r *request.Request) (string, bool) {
	client := r.Client.String()
	if r.Client.Is6() {
		client = netip.PrefixFrom(r.Client, 64).Masked().String()
	}
	switch p.Key.String() {
	case "client":
		return client, true
	case "[client, path]":
		return client + "\x1f" + strings.ReplaceAll(string(r.KeyPath(e.Clients())), "%", "%25"),
			true
	case "[method, policy]":
		return string(r.Method) + "\x1f" + p.Name, true
	}
	value, next := r.Header(e.Names().Index([]byte("x-a")), 0)
	if next < 0 || len(value) == 0 {
		return "\x00", !p.MissingSkip
	}
	return string(value), true
}

func anyRequest(tb testing.TB, rng *rand.Rand, e *Engine, r *request.Request) {
	var headers []string
	if rng.IntN(2) == 0 {
		headers = append(headers, "X-A: "+pick(rng, someValues),
			"Cookie: d=1; c="+pick(rng, someValues)+"; c="+pick(rng, someValues))
	}
	if rng.IntN(4) == 0 {
		headers = append(headers, "x-a: "+pick(rng, someValues))
	}
	fill(tb, r, e, pick(rng, someMethods),
		pick(rng, someHosts)+pick(rng, somePaths)+"?q="+pick(rng, someValues)+"&r",
		pick(rng, someClients), headers...)
	// small
	r.Country, r.ASN = []byte(pick(rng, []string{"DE", "FR", ""})), uint32(rng.IntN(3)*1660)
	r.Tier = []byte(pick(rng, []string{"", "gold"}))
}

// question is what is expected of one.
type question struct {
	rule, key                     string
	judges, counts, later, shadow bool
}

// outcomes is what is expected of one reading, or of both.
type outcomes struct {
	verdict Verdict
	by      int
	tier    string
	asks    []question
	of      []int // policies of asks
}

// linear says what is asked, and the verdict, by the order of the documentation: policy by policy,
// as trace goes through them, for each reading of the path.
func linear(e *Engine, r *request.Request) outcomes {
	sent := linearOf(e, r)
	if r.Decoded == nil {
		return sent
	}
	path := r.Path
	r.Path = r.Decoded
	decoded := linearOf(e, r)
	r.Path = path
	tier := ""
	if sent.tier == decoded.tier {
		tier = sent.tier
	}
	switch {
	case sent.verdict == Deny:
		return sent
	case decoded.verdict == Deny, sent.verdict == Skip:
		sent = decoded
	case decoded.verdict == Ask:
		for i, q := range decoded.asks {
			sent.add(q, decoded.of[i], true)
		}
	}
	sent.tier = tier
	return sent
}

func linearOf(e *Engine, r *request.Request) (out outcomes) {
	skipped, groups := map[string]bool{}, map[string]bool{}
	out.by = -1
	for _, t := range e.trace(r) {
		p := e.Policy(t.Policy)
		if t.Off {
			continue
		}
		if t.Matches && p.Mode == mitigation.Enforce {
			switch {
			case p.SkipAll:
				return outcomes{Skip, t.Policy, out.tier, nil, nil}
			case p.Deny > 0:
				return outcomes{Deny, t.Policy, out.tier, nil, nil}
			case len(p.Skip) > 0:
				skipped[p.Skip[0]] = true
			case p.Tier != "":
				out.tier = p.Tier
			}
		}
		if !p.Asks() || skipped[p.Name] || !t.Matches && !t.Counts ||
			t.Matches && p.Group != "" && groups[p.Group] {
			continue
		}
		groups[p.Group] = groups[p.Group] || t.Matches
		for _, q := range questions(e, p, t, r) {
			out.add(q, t.Policy, false)
		}
	}
	return out
}

// add adds a question of policy, and makes one of equal ones. second: of the second reading, of
// which a policy has one question with the first, whatever it waits for.
func (o *outcomes) add(q question, policy int, second bool) {
	for i := range o.asks {
		same := &o.asks[i]
		if same.rule != q.rule || same.key != q.key || same.shadow != q.shadow ||
			(same.later || q.later) && (!second || o.of[i] != policy) {
			continue
		}
		same.judges, same.counts, same.later = same.judges || q.judges, same.counts ||
			q.counts, same.later || q.later
		return
	}
	o.asks, o.of = append(o.asks, q), append(o.of, policy)
	if len(o.asks) > MaxQuestions { // left out: the last that does not judge, or the last
		last := MaxQuestions
		for q.judges && last > 0 && o.asks[last].judges {
			last--
		}
		if o.asks[last].judges {
			last = MaxQuestions
		}
		o.asks, o.of = slices.Delete(o.asks, last, last+1), slices.Delete(o.of, last, last+1)
	}
}

// questions returns what p asks.
func questions(e *Engine, p *Policy, t Trace, r *request.Request) (asks []question) {
	key, ok := keyText(e, p, r)
	if !ok {
		return nil
	}
	names := slices.Clone(p.Rules)
	for _, own := range p.Own {
		names = append(names, own.Name)
	}
	for _, name := range names {
		asks = append(asks, question{name, key, t.Matches, t.Counts && !t.Later, t.Counts &&
			t.Later, p.Mode == mitigation.Shadow})
	}
	return asks
}

// The tables and the memory of tests change nothing: every generated request gets what going
// through the policies one by one gives it.
func TestMatcherEqualsLinear(t *testing.T) {
	rounds, requests := edgetest.Rounds(50, 300), 60
	rng := rand.New(rand.NewPCG(15, 2026))
	sets := []Set{
		{Name: "office", Kind: CIDR, Nets: []netip.Prefix{
			netip.MustParsePrefix("192.0.2.128/25"),
			netip.MustParsePrefix("2001:db8:1::/48"), netip.MustParsePrefix("192.0.2.0/28"),
		}},
		{Name: "words", Kind: Values, Entries: []sets.Entry{{Value: "ab"}, {Value: "go*"}}},
	}
	out, r := new(Result), new(request.Request)
	verdicts, twice := map[Verdict]int{}, map[Verdict]int{}
	for round := range rounds {
		e := engine(t, sets, anyPolicies(t, rng, 1+rng.IntN(90))...)
		for range requests {
			anyRequest(t, rng, e, r)
			want := linear(e, r)
			e.Evaluate(r, out)
			var got []question
			for _, q := range out.Questions[:out.N] {
				got = append(got, question{
					string(q.Name), string(q.Key), q.Judges,
					q.Counts, q.Later, q.Shadow,
				})
			}
			if out.Verdict != want.verdict || out.Policy != want.by ||
				!slices.Equal(got, want.asks) ||
				want.verdict == Ask && string(out.Tier) != want.tier {
				t.Fatalf("round %d: %s %s%s?%s from %v: got %v %d %v %q, want %+v", round, r.Method,
					r.Host, r.Path, r.Query, r.Client,
					out.Verdict, out.Policy, got, out.Tier, want)
			}
			verdicts[want.verdict] += 1 + len(want.asks)
			if r.Decoded != nil {
				twice[want.verdict]++
			}
		}
	}
	if verdicts[Ask] < 1000 || verdicts[Skip] < 100 || verdicts[Deny] < 100 || twice[Ask] < 200 ||
		twice[Skip] < 100 || twice[Deny] < 100 {
		t.Errorf("too few of some kind: %v, of two readings %v", verdicts, twice)
	}
}
