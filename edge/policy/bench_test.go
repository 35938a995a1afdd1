package policy

import (
	"fmt"
	"testing"

	"github.com/headgate-dev/headgate/edge/policy/condition"
	"github.com/headgate-dev/headgate/edge/request"
)

// manyPolicies returns n policies of ten kinds, four of which have tests beyond method, host, path
// and client.
func manyPolicies(tb testing.TB, n int) []Policy {
	methods := []string{"GET", "POST", "PUT", "DELETE"}
	var list []Policy
	for i := range n {
		var terms []*condition.Expr
		switch i % 10 {
		case 0:
			terms = []*condition.Expr{term(tb, "path", fmt.Sprintf("/v2/svc%d/**", i))}
		case 1:
			terms = []*condition.Expr{
				term(tb, "method", "POST"), term(tb, "path", "/v2/users/**"),
				term(tb, "header.x-api-key", "true"), term(tb, "header.x-internal", "false"),
			}
		case 2:
			terms = []*condition.Expr{term(tb, "host", fmt.Sprintf("t%d.example.com", i))}
		case 3:
			terms = []*condition.Expr{
				term(tb, "host", "*.example.com"),
				term(tb, "country", "CN", "RU", "FR"),
			}
		case 4:
			terms = []*condition.Expr{term(tb, "client",
				fmt.Sprintf("10.%d.0.0/16", i/10), "192.0.2.0/24")}
		case 5:
			terms = []*condition.Expr{
				term(tb, "method", methods[i/10%4]),
				term(tb, "path", fmt.Sprintf("/login%d", i)),
			}
		case 6:
			terms = []*condition.Expr{term(tb, "header.x-tier", "gold"), term(tb, "path", "/v2/**")}
		case 7:
			terms = []*condition.Expr{term(tb, "path", "/graphql/**", "/api/graphql")}
		case 8:
			terms = []*condition.Expr{
				term(tb, "host", "shop.example.org"),
				term(tb, "path", "~^/v[0-9]+/users/[0-9]+/orders$"),
			}
		case 9:
			terms = []*condition.Expr{term(tb, "path", fmt.Sprintf("/static/%d/**", i))}
		}
		list = append(list, limit(fmt.Sprintf("p%d", i), condition.All(terms...)))
	}
	return list
}

// headers are those of an ordinary request.
var headers = []string{
	"User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36", "Accept: application/json",
	"Accept-Encoding: gzip, br",
	"Accept-Language: de", "Authorization: Bearer abcdefghijklmnopqrstuvwxyz0123456789",
	"X-API-Key: k_live_0123456789abcdef",
	"Cookie: sid=abc; theme=dark", "X-Request-Id: f00", "Content-Type: application/json",
	"X-Forwarded-Proto: https",
}

// BenchmarkEvaluate is the matching with its questions: of n policies n/10 match, or one.
func BenchmarkEvaluate(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1000} {
		e := engine(b, nil, manyPolicies(b, n)...)
		for _, c := range []struct{ name, method, url, client string }{
			{"few", "GET", "www.other.net/static/9/x.png", "198.51.100.7"},
			{"ordinary", "GET", "t2.example.com/v2/svc0/users", "2001:db8:1234:5678:9abc::77"},
			{"many", "POST", "api.example.com/v2/users/4711/orders", "2001:db8:1234:5678:9abc::77"},
			{
				"twice", "POST", "api.example.com/v2/users/4711%2Forders",
				"2001:db8:1234:5678:9abc::77",
			},
		} {
			b.Run(fmt.Sprintf("policies=%d/%s", n, c.name), func(b *testing.B) {
				r, out := ask(b, e, c.method, c.url, c.client, headers...), new(Result)
				for b.Loop() {
					e.Evaluate(r, out)
				}
				b.ReportMetric(float64(out.N+out.Dropped), "questions")
			})
		}
	}
}

// BenchmarkFill is what a door does before: fields, headers, path and client.
func BenchmarkFill(b *testing.B) {
	e := engine(b, nil, manyPolicies(b, 100)...)
	r := new(request.Request)
	names, values := make([][]byte, len(headers)), make([][]byte, len(headers))
	for i, h := range headers {
		at := 0
		for h[at] != ':' {
			at++
		}
		names[i], values[i] = []byte(h[:at]), []byte(h[at+2:])
	}
	host, target := []byte("api.example.com"), []byte("/v2/users/4711/orders?page=2")
	for b.Loop() {
		r.Reset(e.Names())
		for i := range names {
			r.AddHeader(names[i], values[i])
		}
		r.SetHost(host)
		r.SetTarget(target, new(request.Clients))
	}
}

func BenchmarkKey(b *testing.B) {
	for _, parts := range [][]string{{"client"}, {"client/24,56", "path:2"}, {"header.x-api-key"}} {
		p := limit("a", nil)
		p.Key = keyOf(b, parts...)
		e := engine(b, nil, p)
		b.Run(fmt.Sprint(parts), func(b *testing.B) {
			r, out := ask(b, e, "GET", "h/a/b/c", "2001:db8:1234:5678:9abc::77", headers...),
				new(Result)
			for b.Loop() {
				e.Evaluate(r, out)
			}
		})
	}
}

// BenchmarkReadings is a target and its matching: of a plain path, and of one with two readings.
func BenchmarkReadings(b *testing.B) {
	e := engine(b, nil, manyPolicies(b, 100)...)
	for _, c := range []struct{ name, host, target string }{
		{"few/plain", "www.other.net", "/static/9/images/logo.png"},
		{"few/twice", "www.other.net", "/static/9/images%2Flogo.png"},
		{"ordinary/plain", "t2.example.com", "/v2/svc0/users"},
		{"ordinary/twice", "t2.example.com", "/v2/svc0%2Fusers"},
		{"many/plain", "api.example.com", "/v2/users/4711/orders"},
		{"many/twice", "api.example.com", "/v2/users/4711%2Forders"},
	} {
		b.Run(c.name, func(b *testing.B) {
			r, out := new(request.Request), new(Result)
			method, host, target := []byte("GET"), []byte(c.host), []byte(c.target)
			for b.Loop() {
				r.Reset(e.Names())
				r.Method, r.Host, r.Client = method, host, ask4
				r.SetTarget(target, e.Clients())
				e.Evaluate(r, out)
			}
		})
	}
}
