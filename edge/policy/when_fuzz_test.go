package policy

import (
	"errors"
	"testing"

	"github.com/headgate-dev/headgate/edge/policy/condition"
)

// An expression that can be read can be evaluated; one that cannot says where, inside it.
func FuzzWhen(f *testing.F) {
	for _, seed := range []string{
		`method == "GET" && path.startsWith("/v2/") || !(asn in [1, 2])`, `header["x"] in sets.a`,
		`"x" in query`, `client == "::1"`, `1 < 2`,
		`path.matches("a+")`, `host != header["a"]`, `((`, `!`, `"`, `a[`,
	} {
		f.Add(seed, "GET", "/v2/x?q=1", "v")
	}
	f.Fuzz(func(t *testing.T, text, method, target, header string) {
		expr, err := condition.ParseWhen(text)
		if err != nil {
			if at, ok := errors.AsType[*condition.ExprError](err); !ok ||
				at.At < 0 || at.At > len(text) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		s := &Spec{Policies: []Policy{limit("p", expr)}}
		expr.EachTest(func(e *condition.Expr) {
			for _, w := range e.Test.Wants {
				if w.Kind == condition.WantSet {
					kind := Values
					if e.Test.Field.IsAddress() {
						kind = CIDR
					}
					s.Sets = append(s.Sets, Set{Name: w.Text, Kind: kind})
				}
			}
		})
		if len(s.Check(nil, func(string, []string) string { return "" })) > 0 {
			return
		}
		e := load(t, s)
		r, out := ask(t, e, method, "h/", "192.0.2.1", "x: "+header, "a: "+header), new(Result)
		r.SetTarget([]byte(target), e.Clients())
		e.Evaluate(r, out)
		if got := out.N == 1; got != condition.All(e.policies[0].terms...).Holds(r) {
			t.Fatalf("%q: got %v", text, got)
		}
	})
}
