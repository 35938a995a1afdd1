package celtest

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"cel.dev/cel-go/cel"

	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/edge/policy/condition"
	"github.com/headgate-dev/headgate/edge/policy/sets"
	"github.com/headgate-dev/headgate/edge/request"
)

var (
	texts  = []string{"a", "ab", "b", "gold", "/v2/users", "GET", "DE", "example.com", ""}
	fields = []string{
		"method", "host", "path", "country", "tier", `header["x-a"]`, `header["x-b"]`,
		`query["q"]`, `cookie["c"]`,
	}
)

func pick(rng *rand.Rand, list []string) string { return list[rng.IntN(len(list))] }

// expression generates an expression of the grammar.
func expression(rng *rand.Rand, depth int) string {
	if depth > 0 {
		switch rng.IntN(6) {
		case 0:
			return expression(rng, depth-1) + " && " + expression(rng, depth-1)
		case 1:
			return expression(rng, depth-1) + " || " + expression(rng, depth-1)
		case 2:
			return "!(" + expression(rng, depth-1) + ")"
		case 3:
			return "(" + expression(rng, depth-1) + ")"
		}
	}
	operator := pick(rng, []string{"==", "!=", "<", "<=", ">", ">="})
	switch rng.IntN(10) {
	case 0:
		return fmt.Sprintf("asn %s %d", operator, rng.IntN(4)*1660)
	case 1:
		return fmt.Sprintf("%d %s asn", rng.IntN(4)*1660, operator)
	case 2:
		return fmt.Sprintf("%q in %s", pick(rng, []string{"x-a", "x-b", "q", "c"}),
			pick(rng, []string{"header", "query", "cookie"}))
	case 3:
		return fmt.Sprintf("%s in [%q, %q]", pick(rng, fields), pick(rng, texts), pick(rng, texts))
	case 4:
		return fmt.Sprintf("%s.%s(%q)", pick(rng, fields),
			pick(rng, []string{"startsWith", "endsWith", "contains"}), pick(rng, texts))
	case 5:
		return fmt.Sprintf("%s.matches(%q)", pick(rng, fields),
			pick(rng, []string{"^a", "b$", "[0-9]", "^/v2/", "(?i)GOLD", ""}))
	case 6:
		return fmt.Sprintf("client %s %q", pick(rng, []string{"==", "!="}),
			pick(rng, []string{"192.0.2.1", "2001:db8::1"}))
	case 7:
		return fmt.Sprintf("%s in sets.words", pick(rng, fields))
	case 8:
		return fmt.Sprintf("%s %s %s", pick(rng, fields),
			pick(rng, []string{"==", "!="}), pick(rng, fields))
	}
	return fmt.Sprintf("%s %s %q", pick(rng, fields), operator, pick(rng, texts))
}

// sample is one request in both forms.
type sample struct {
	vars map[string]any
	fill func(r *request.Request)
}

func newSample(rng *rand.Rand) sample {
	method, host, path := pick(rng, []string{"GET", "POST"}),
		pick(rng, []string{"example.com", "a"}), pick(rng, []string{"/", "/v2/users", "/v2/7"})
	country, tier, client := pick(rng, []string{"DE", "a"}), pick(rng, []string{"gold", "b"}),
		pick(rng, []string{"192.0.2.1", "2001:db8::1"})
	asn := 1 + rng.IntN(3)*1660
	maps := map[string]map[string]string{"header": {}, "query": {}, "cookie": {}}
	for _, at := range [][2]string{
		{"header", "x-a"},
		{"header", "x-b"},
		{"query", "q"},
		{"cookie", "c"},
	} {
		if rng.IntN(4) > 0 {
			maps[at[0]][at[1]] = pick(rng, []string{"a", "ab", "b", "gold", ""})
		}
	}
	s := sample{vars: map[string]any{
		"method": method, "host": host, "path": path, "country": country, "tier": tier,
		"client": client, "asn": asn,
		"header": maps["header"], "query": maps["query"], "cookie": maps["cookie"],
		"sets": map[string][]string{"words": {"a", "gold", "/v2/users"}},
	}}
	s.fill = func(r *request.Request) {
		r.Method, r.Country, r.Tier, r.Client, r.ASN = []byte(method), []byte(country),
			[]byte(tier), netip.MustParseAddr(client), uint32(asn)
		r.SetHost([]byte(host))
		target := path
		if q, ok := maps["query"]["q"]; ok {
			target += "?q=" + q
		}
		r.SetTarget([]byte(target), new(request.Clients))
		for name, value := range maps["header"] {
			r.AddHeader([]byte(strings.ToUpper(name)), []byte(value))
		}
		if c, ok := maps["cookie"]["c"]; ok {
			r.AddHeader([]byte("Cookie"), []byte("c="+c))
		}
	}
	return s
}

func environment(t *testing.T) *cel.Env {
	t.Helper()
	texts := cel.MapType(cel.StringType, cel.StringType)
	env, err := cel.NewEnv(
		cel.Variable("method", cel.StringType), cel.Variable("host", cel.StringType),
		cel.Variable("path", cel.StringType),
		cel.Variable("country", cel.StringType), cel.Variable("tier", cel.StringType),
		cel.Variable("client", cel.StringType), cel.Variable("asn", cel.IntType),
		cel.Variable("header", texts), cel.Variable("query", texts), cel.Variable("cookie", texts),
		cel.Variable("sets", cel.MapType(cel.StringType, cel.ListType(cel.StringType))),
	)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

func load(t *testing.T, text string) *policy.Engine {
	t.Helper()
	expr, err := condition.ParseWhen(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	s := &policy.Spec{
		Clients: request.DefaultClients(),
		Sets: []policy.Set{{
			Name: "words", Kind: policy.Values,
			Entries: []sets.Entry{{Value: "a"}, {Value: "gold"}, {Value: "/v2/users"}},
		}},
		Policies: []policy.Policy{{Name: "p", Match: expr, Deny: 403}},
	}
	e, err := policy.Load(s, policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Wherever CEL has an answer, it is ours. It has none where a field that is absent decides.
func TestWhenIsCEL(t *testing.T) {
	const expressions, requests = 2000, 20
	env := environment(t)
	rng := rand.New(rand.NewPCG(9, 4))
	r, out := new(request.Request), new(policy.Result)
	answers := map[bool]int{}
	for range expressions {
		text := expression(rng, 3)
		ast, issues := env.Compile(text)
		if issues.Err() != nil {
			t.Fatalf("%s: cel-go: %v", text, issues.Err())
		}
		program, err := env.Program(ast)
		if err != nil {
			t.Fatal(err)
		}
		e := load(t, text)
		for range requests {
			s := newSample(rng)
			value, _, err := program.Eval(s.vars)
			if err != nil {
				continue
			}
			want := value.Value().(bool)
			r.Reset(e.Names())
			s.fill(r)
			if e.Evaluate(r, out); (out.Verdict == policy.Deny) != want {
				t.Fatalf("%s with %v: cel-go says %v", text, s.vars, want)
			}
			answers[want]++
		}
	}
	t.Logf("%d compared, %d of them true", answers[true]+answers[false], answers[true])
	if answers[true] < expressions || answers[false] < expressions {
		t.Errorf("too few of one kind: %v", answers)
	}
}
