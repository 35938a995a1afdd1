package policy

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/policy/condition"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/mitigation"
)

// term returns the condition that field, as the configuration names it, has one of values.
func term(tb testing.TB, field string, values ...string) *condition.Expr {
	tb.Helper()
	f, err := condition.ParseField(field)
	if err != nil {
		tb.Fatal(err)
	}
	var list []condition.Value
	for _, text := range values {
		v, err := condition.ParseValue(f, text)
		if text == "true" || text == "false" {
			v, err = condition.Present(f, text == "true")
		}
		if err != nil {
			tb.Fatalf("%s: %s: %v", field, text, err)
		}
		list = append(list, v)
	}
	return condition.OneOf(condition.Pos{}, field+": "+strings.Join(values, ", "), f, list)
}

// when returns the condition of an expression.
func when(tb testing.TB, text string) *condition.Expr {
	tb.Helper()
	e, err := condition.ParseWhen(text)
	if err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return e
}

// keyOf returns the key of parts.
func keyOf(tb testing.TB, parts ...string) Key {
	tb.Helper()
	var k Key
	for _, text := range parts {
		part, err := ParseKeyPart(text)
		if err != nil {
			tb.Fatalf("%s: %v", text, err)
		}
		k.Parts = append(k.Parts, part)
	}
	return k
}

// limit returns a policy with a rule of its own.
func limit(name string, match *condition.Expr) Policy {
	return Policy{
		Name: name, Match: match, Key: DefaultKey(), Cost: DefaultCost(0),
		Own: []mitigation.Rule{{Name: name, Limit: 5, Window: 60e9}},
	}
}

// engine loads policies in which there must be no fault.
func engine(tb testing.TB, sets []Set, policies ...Policy) *Engine {
	tb.Helper()
	return load(tb, &Spec{Clients: request.DefaultClients(), Sets: sets, Policies: policies})
}

func load(tb testing.TB, s *Spec) *Engine {
	tb.Helper()
	e, err := Load(s, Options{Rules: ruleNames(s)})
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

func ruleNames(s *Spec) []string {
	var names []string
	for _, r := range s.Rules() {
		names = append(names, r.Name)
	}
	for i := range s.Policies {
		for _, name := range s.Policies[i].Rules {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// ask is a request for tests: method, URL without scheme, client, then headers as "name: value".
//
//nolint:revive // a request in one line
func ask(tb testing.TB, e *Engine, method, url, client string, headers ...string) *request.Request {
	tb.Helper()
	r := new(request.Request)
	fill(tb, r, e, method, url, client, headers...)
	return r
}

//nolint:revive // a request in one line
func fill(
	tb testing.TB, r *request.Request, e *Engine, method, url, client string, headers ...string,
) {
	tb.Helper()
	r.Reset(e.Names())
	host, path, _ := strings.Cut(url, "/")
	r.Method = []byte(method)
	r.SetHost([]byte(host))
	r.SetTarget([]byte("/"+path), e.Clients())
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.AddHeader([]byte(name), []byte(value))
	}
	if client != "" {
		r.Client = netip.MustParseAddr(client)
	}
}

// outcome returns a result as a line: the verdict, then the questions, each with what it does.
func outcome(e *Engine, out *Result) string {
	var text []string
	switch out.Verdict {
	case Skip:
		text = append(text, "skip by "+e.Policy(out.Policy).Name)
	case Deny:
		text = append(text, fmt.Sprintf("deny %d by %s", out.Status, e.Policy(out.Policy).Name))
	}
	if out.Shadow {
		text = append(text, "shadow")
	}
	if out.Tier != nil {
		text = append(text, "tier "+string(out.Tier))
	}
	for i := range out.N {
		q := &out.Questions[i]
		line := fmt.Sprintf("%s %q", q.Name, q.Key)
		if q.Cost != 1 {
			line += fmt.Sprintf(" x%d", q.Cost)
		}
		for _, flag := range []struct {
			is   bool
			name string
		}{{!q.Judges, "counts only"}, {!q.Counts, "looks only"}, {q.Later, "later"}, {
			q.Shadow,
			"in shadow",
		}} {
			if flag.is {
				line += ", " + flag.name
			}
		}
		text = append(text, line)
	}
	return strings.Join(text, "; ")
}

var (
	ask4       = netip.MustParseAddr("203.0.113.7")
	rawHeaders = [][2][]byte{
		{[]byte("User-Agent"), []byte("Mozilla/5.0 (X11; Linux x86_64)")},
		{[]byte("X-API-Key"), []byte("k")},
		{[]byte("Authorization"), []byte("Bearer x")},
		{[]byte("Cookie"), []byte("theme=dark; sid=abc")},
	}
)
