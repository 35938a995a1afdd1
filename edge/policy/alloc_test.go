//go:build !race

package policy

import (
	"fmt"
	"testing"

	"github.com/headgate-dev/headgate/edge/request"
)

// A warm request and result allocate nothing, whatever is looked at.
func TestNothingIsAllocated(t *testing.T) {
	policies := manyPolicies(t, 100)
	for i, text := range []string{
		`header["user-agent"].contains("Linux") && query["q"] != "x" && cookie["sid"] == "abc"`,
		`path.matches("^/v[0-9]+/") || "x-api-key" in header`,
	} {
		p := limit(fmt.Sprintf("when%d", i), when(t, text))
		p.Key = keyOf(t, "header.authorization", "query.q | client", "path")
		policies = append([]Policy{p}, policies...)
	}
	e := engine(t, nil, policies...)
	r, out := new(request.Request), new(Result)
	host, target, method := []byte("API.example.com"),
		[]byte("/v2//users/./4711%2Forders%2e?q=%41+b"), []byte("POST")
	once := func() {
		r.Reset(e.Names())
		r.SetHost(host)
		r.SetTarget(target, new(request.Clients))
		r.Method, r.Client = method, ask4
		for _, h := range rawHeaders {
			r.AddHeader(h[0], h[1])
		}
		e.Evaluate(r, out)
	}
	once()
	if out.N < 3 || r.Decoded == nil {
		t.Fatalf("only %s", outcome(e, out))
	}
	if n := testing.AllocsPerRun(100, once); n != 0 {
		t.Errorf("%v allocations a request", n)
	}
}
